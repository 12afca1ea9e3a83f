// How a task stands, in the console's own words: for tools without a card, and for servers that serve none.

import { h, alone, badge, lasting, latest, listing, pretty } from "./dom.js";
import { formOf } from "./form.js";
import { Client, MODERN } from "./mcp.js";

const ENDED = new Set(["completed", "failed", "cancelled"]);

export class Panel {
  constructor({ client, taskId, endpoint, token, say }) {
    Object.assign(this, { client, taskId, say });
    // A question of a task can be answered in the newer era alone, whichever one shows it.
    this.answering = client.isModern ? client : new Client(MODERN, endpoint, token);
    this.status = h("p", { class: "status-line" });
    this.words = h("p", {});
    this.questions = h("div", {});
    this.ask = listing(this.questions, ([key]) => key, ([key, one]) => this.question(key, one.params), () => {});
    this.result = h("div", {});
    this.stop = h("button", { type: "button", class: "danger", onclick: () => alone(this.element, () => this.cancel()), onblur: () => this.sure(false) });
    this.element = h("section", { class: "panel", "aria-label": "Task", tabindex: "-1" }, this.status, this.words, this.questions, this.result, this.stop);
    this.read = latest(() => this.answering.task(taskId), (task) => this.show(task));
    this.sure(false);
    this.poll();
  }

  close() {
    clearTimeout(this.timer);
    this.isClosed = true;
  }

  async poll() {
    let pause;
    try {
      await this.read();
      pause = this.task.pollIntervalMs ?? 1000;
    } catch (error) {
      pause = 3000;
      this.words.textContent = `The task cannot be read: ${error.message}`;
      if (error.code === -32602) this.stop.hidden = true; // unknown: there is nothing to wait for, nor to cancel
    }
    clearTimeout(this.timer); // another poll may have been under way
    if (!this.isClosed && !this.stop.hidden) this.timer = setTimeout(() => this.poll(), pause);
  }

  show(task) {
    this.task = task;
    const hasEnded = ENDED.has(task.status);
    this.status.replaceChildren(badge(task.status), h("span", { class: "quiet" }, lasting(task.createdAt, hasEnded ? task.lastUpdatedAt : undefined)));
    this.words.textContent = task.status === "input_required" ? "" : task.statusMessage ?? "";
    const had = this.element.contains(document.activeElement);
    this.stop.hidden = hasEnded;
    this.ask(Object.entries(task.inputRequests ?? {}));
    if (task.result) this.result.replaceChildren(resultOf(task.result));
    if (task.error) this.result.replaceChildren(h("p", { class: "fault" }, task.error.message));
    if (had && !this.element.contains(document.activeElement)) this.element.focus();
  }

  question(key, params) {
    return questionForm(params, async (answer) => {
      try {
        await this.answering.answer(this.taskId, key, answer);
        this.say("Answered.");
      } catch (error) {
        this.say(`Not answered: ${error.message}`);
      }
      await this.poll();
    });
  }

  // Who presses the button once is asked; who goes elsewhere then, did not mean it.
  sure(isSure) {
    this.isSure = isSure;
    this.stop.textContent = isSure ? "Really cancel?" : "Cancel the task";
  }

  async cancel() {
    if (!this.isSure) {
      this.sure(true);
      return;
    }
    try {
      await this.client.cancel(this.taskId);
    } catch (error) {
      this.say(`Not cancelled: ${error.message}`);
    }
    this.sure(false);
    await this.poll();
  }
}

const ANSWERS = { accept: "Accept", decline: "Decline", cancel: "Dismiss" };

// A question as a form; `answer` gets {action, content?}, and returns a promise. An action without words has no button.
export function questionForm(params, answer, words = ANSWERS) {
  const fields = params.mode === "url" ? null : formOf(params.requestedSchema ?? {});
  const accept = (event) => {
    event.preventDefault();
    const content = fields?.read();
    if (content === null || form.ariaBusy) return;
    if (params.mode === "url") open(params.url, "_blank", "noopener,noreferrer");
    give({ action: "accept", ...(content ? { content } : {}) });
  };
  const give = (given) => alone(form, () => answer(given));
  const button = (action) => words[action] && h("button", { type: "button", onclick: () => give({ action }) }, words[action]);
  const form = h("form", { class: "question", novalidate: true, onsubmit: accept },
    h("p", { class: "asks" }, params.message), params.mode === "url" ? h("p", {}, h("code", {}, params.url)) : fields.element,
    h("div", { class: "row" }, h("button", { class: "primary" }, params.mode === "url" ? "Open the page" : words.accept), button("decline"), button("cancel")));
  return form;
}

export function resultOf(result) {
  const texts = (result.content ?? []).map((one) => (one.type === "text" ? pretty(one.text) : JSON.stringify(one, null, 2)));
  const shown = result.structuredContent === undefined ? texts.join("\n") : JSON.stringify(result.structuredContent, null, 2);
  return h("div", {}, h("h2", {}, result.isError ? "The tool failed" : "Result"), h("pre", { tabindex: "0", role: "region", "aria-label": "Result", class: result.isError ? "fault" : "" }, shown));
}
