// Questions to others than the callers, answered as a second person: somebody named, who is of the audience.

import { h, latest, listing, moment, renew } from "./dom.js";
import { questionForm } from "./panel.js";

const KEPT = "person";
const HEADERS = { "x-stepwire-console": "1", "content-type": "application/json" };
const WORDS = { accept: "Approve", decline: "Refuse", cancel: null };

class ApprovalsView {
  constructor(context) {
    Object.assign(this, { context, shown: [] });
    this.person = h("select", { id: "person", class: "short", onchange: () => this.chosen() }, context.people.map((one) => h("option", {}, one)));
    this.person.value = sessionStorage.getItem(KEPT) ?? context.people[0];
    this.list = h("div", { class: "entries" });
    this.none = h("p", {}, "None is open for you. Start a tool whose workflow asks others, such as a refund above 500.");
    this.none.hidden = true;
    this.out = h("p", { class: "quiet", role: "status", tabindex: "-1" });
    this.element = h("div", { class: "page" }, h("h1", {}, "Questions to others"),
      h("p", { class: "quiet" }, "Workflows ask these of people other than the caller. Here you are such a person, of whichever audience a question has. Nobody answers twice: where two must approve, choose another name for the second."),
      h("div", { class: "row" }, h("label", { for: "person" }, "You are"), this.person), this.out, this.list, this.none);
    const list = listing(this.list, (one) => one.name, (one) => this.card(one), (card, one) => renew(card.firstChild, ...this.facts(one)));
    this.look = latest(() => context.api(`approvals?${this.path}`), async (found) => {
      const gone = this.shown.filter((one) => !found.some(({ name }) => name === one.name));
      this.shown = found;
      list(found);
      this.none.hidden = found.length > 0;
      for (const one of gone) await this.closed(one);
    });
  }

  // Says what came of a question that somebody else has decided, or that is not open any more: its form has gone.
  async closed(one) {
    const { message } = await this.context.api(`outcomes/${one.name}`);
    if (message && one.name !== this.voted) this.out.textContent = `${this.titleOf(one)}: ${message}`;
  }

  chosen() {
    sessionStorage.setItem(KEPT, this.person.value);
    this.context.attempt(this.look);
  }

  get path() {
    return new URLSearchParams({ as: this.person.value });
  }

  // The form is made once: whatever is written in it stays when others answer, and when somebody else is chosen.
  card(one) {
    return h("section", { class: "entry", "aria-label": `${this.titleOf(one)}: ${one.key}` }, h("div", { class: "entry-facts" }), questionForm(one.params, (answer) => this.vote(one, answer), WORDS));
  }

  titleOf(one) {
    return this.context.toolNamed(one.tool)?.title ?? one.tool;
  }

  facts(one) {
    const counted = one.approvals > 1 ? `${one.approvedBy.length} of ${one.approvals} have approved${one.approvedBy.length ? `: ${one.approvedBy.join(", ")}` : ""}.` : "";
    const shown = Object.entries(one.arguments);
    return [
      h("p", { class: "line" }, h("span", { class: "badge waiting" }, one.audience), h("span", { class: "quiet" }, `asked ${moment(one.askedAt)}. ${counted}`), h("a", { href: `#/tasks/${one.taskId}` }, "The caller's task"), one.links.map((link) => h("a", { href: link, target: "_blank", rel: "noopener noreferrer" }, "The page for approvers"))),
      h("dl", { class: "facts" },
        h("dt", {}, "Asked by"), h("dd", {}, one.askedBy), h("dt", {}, "Tool"), h("dd", {}, this.titleOf(one), this.titleOf(one) === one.tool ? "" : [" ", h("code", {}, one.tool)]),
        h("dt", {}, "Until"), h("dd", {}, moment(one.expiresAt)), shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))])),
    ];
  }

  async vote(one, answer) {
    try {
      const { message } = await this.context.api(`approvals/${one.name}?${this.path}`, { method: "POST", headers: HEADERS, body: JSON.stringify(answer) });
      this.voted = one.name;
      this.out.textContent = message;
      this.out.focus(); // the form is about to go
    } catch (error) {
      this.context.say(error.message);
    }
    await this.context.attempt(this.look);
  }
}

export default {
  page: { kind: "approvals", heading: "Approvals", words: "Questions to others", View: ApprovalsView },
  waits: (task) => task.waitsFor,
  asks: true,
  beside: (task) => task.waitsFor && h("a", { href: "#/approvals" }, "Answer as somebody else"),
};
