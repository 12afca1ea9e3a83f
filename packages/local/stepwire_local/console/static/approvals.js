// Questions to others than the callers, answered as a second person: somebody named, who is of the audience.

import { h, clock } from "./dom.js";
import { questionForm } from "./panel.js";

const KEPT = "person";
const HEADERS = { "x-stepwire-console": "1", "content-type": "application/json" };
const WORDS = { accept: "Approve", decline: "Refuse", cancel: null };

export class ApprovalsView {
  constructor(context) {
    Object.assign(this, { context, cards: new Map(), seen: null });
    this.person = h("select", { id: "person", onchange: () => this.chosen() }, context.people.map((one) => h("option", {}, one)));
    this.person.value = sessionStorage.getItem(KEPT) ?? context.people[0];
    this.list = h("div", { class: "approvals" });
    this.out = h("p", { class: "quiet", role: "status" });
    this.element = h("div", { class: "page" }, h("h1", {}, "Questions to others"),
      h("p", { class: "quiet" }, "Workflows ask these of people other than the caller. Here you are such a person, of whichever audience a question has. Nobody answers twice: where two must approve, choose another name for the second."),
      h("div", { class: "row" }, h("label", { for: "person" }, "You are"), this.person), this.out, this.list);
    this.look();
  }

  chosen() {
    sessionStorage.setItem(KEPT, this.person.value);
    this.seen = null;
    this.cards.clear();
    this.look();
  }

  get path() {
    return new URLSearchParams({ as: this.person.value });
  }

  async look() {
    const person = this.person.value;
    const found = await this.context.api(`approvals?${this.path}`);
    const now = JSON.stringify(found);
    if (now === this.seen || person !== this.person.value) return;
    this.seen = now;
    const left = new Map(found.map((one) => [one.name, this.cards.get(one.name) ?? this.card(one)]));
    this.cards = left;
    this.list.replaceChildren(...left.values());
    if (!found.length) this.list.replaceChildren(h("p", {}, "None is open for you. Start a tool whose workflow asks others, such as a refund above 500."));
  }

  card(one) {
    const title = this.context.toolNamed(one.tool)?.title ?? one.tool;
    const counted = one.approvals > 1 ? `${one.approvedBy.length} of ${one.approvals} have approved${one.approvedBy.length ? `: ${one.approvedBy.join(", ")}` : ""}.` : "";
    const shown = Object.entries(one.arguments);
    const facts = h("dl", { class: "facts" },
      h("dt", {}, "Asked by"), h("dd", {}, one.askedBy), h("dt", {}, "Tool"), h("dd", {}, title, " ", h("code", {}, one.tool)),
      h("dt", {}, "Until"), h("dd", {}, new Date(one.expiresAt).toLocaleString()), shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))]));
    const form = questionForm(one.params, (answer) => this.vote(one, answer), WORDS);
    return h("section", { class: "approval", "aria-label": `${title}: ${one.key}` }, h("p", { class: "line" }, h("span", { class: "badge waiting" }, one.audience), h("span", { class: "quiet" }, `asked ${clock(one.askedAt)}. ${counted}`), h("a", { href: `#/tasks/${one.taskId}` }, "The caller's task"), one.links.map((link) => h("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, "The page for approvers"))), facts, form);
  }

  async vote(one, answer) {
    try {
      const { message } = await this.context.api(`approvals/${one.name}?${this.path}`, { method: "POST", headers: HEADERS, body: JSON.stringify(answer) });
      this.out.textContent = message;
      this.cards.delete(one.name);
    } catch (error) {
      this.context.say(error.message);
    }
    this.look();
  }
}
