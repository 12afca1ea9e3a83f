// How a task stands, in the console's own words: for tools without a card, and for servers that serve none.

import { h, badge, lasting, pretty } from "./dom.js";
import { formOf } from "./form.js";
import { Client, MODERN } from "./mcp.js";

const ENDED = new Set(["completed", "failed", "cancelled"]);

export class Panel {
  constructor({ client, taskId, endpoint, token, say }) {
    Object.assign(this, { client, taskId, say, asked: null });
    // A question of a task can be answered in the newer era alone, whichever one shows it.
    this.answering = client.isModern ? client : new Client(MODERN, endpoint, token);
    this.status = h("p", { class: "status-line" });
    this.words = h("p", {});
    this.questions = h("div", {});
    this.result = h("div", {});
    this.stop = h("button", { type: "button", class: "danger", onclick: () => this.cancel() }, "Cancel the task");
    this.element = h("section", { class: "panel", "aria-label": "Task" }, this.status, this.words, this.questions, this.result, this.stop);
    this.poll();
  }

  close() {
    clearTimeout(this.timer);
    this.isClosed = true;
  }

  async poll() {
    clearTimeout(this.timer);
    let pause = 3000;
    try {
      const task = await this.answering.task(this.taskId);
      if (!this.isClosed) this.show(task);
      pause = ENDED.has(task.status) ? 0 : task.pollIntervalMs ?? 1000;
    } catch (error) {
      this.words.textContent = `The task cannot be read: ${error.message}`;
      if (error.code === -32602) { // unknown: there is nothing to wait for, nor to cancel
        pause = 0;
        this.stop.hidden = true;
      }
    }
    if (pause && !this.isClosed) this.timer = setTimeout(() => this.poll(), pause);
  }

  show(task) {
    const hasEnded = ENDED.has(task.status);
    this.status.replaceChildren(badge(task.status), h("span", { class: "quiet" }, lasting(task.createdAt, hasEnded ? task.lastUpdatedAt : undefined)));
    this.words.textContent = task.status === "input_required" ? "" : task.statusMessage ?? "";
    this.stop.hidden = hasEnded;
    const keys = Object.keys(task.inputRequests ?? {}).join(" ");
    if (keys !== this.asked) {
      this.asked = keys;
      this.questions.replaceChildren(...Object.entries(task.inputRequests ?? {}).map(([key, one]) => this.question(key, one.params)));
    }
    if (task.result) this.result.replaceChildren(resultOf(task.result));
    if (task.error) this.result.replaceChildren(h("p", { class: "fault" }, task.error.message));
  }

  question(key, params) {
    return questionForm(params, async (answer) => {
      try {
        await this.answering.answer(this.taskId, key, answer);
        this.asked = null;
        this.say("Answered.");
      } catch (error) {
        this.say(`Not answered: ${error.message}`);
      }
      this.poll();
    });
  }

  async cancel() {
    if (this.stop.dataset.sure !== "yes") {
      this.stop.dataset.sure = "yes";
      this.stop.textContent = "Really cancel?";
      return;
    }
    try {
      await this.client.cancel(this.taskId);
    } catch (error) {
      this.say(`Not cancelled: ${error.message}`);
    }
    this.poll();
  }
}

const ANSWERS = { accept: "Accept", decline: "Decline", cancel: "Dismiss" };

// A question as a form; `answer` gets {action, content?}. An action without words has no button.
export function questionForm(params, answer, words = ANSWERS) {
  const fields = params.mode === "url" ? null : formOf(params.requestedSchema ?? {});
  const accept = (event) => {
    event.preventDefault();
    const content = fields?.read();
    if (content === null) return;
    if (params.mode === "url") open(params.url, "_blank", "noopener,noreferrer");
    answer({ action: "accept", ...(content ? { content } : {}) });
  };
  const button = (action) => words[action] && h("button", { type: "button", onclick: () => answer({ action }) }, words[action]);
  return h("form", { class: "question", novalidate: true, onsubmit: accept },
    h("p", { class: "asks" }, params.message), params.mode === "url" ? h("p", {}, h("code", {}, params.url)) : fields.element,
    h("div", { class: "row" }, h("button", { class: "primary" }, params.mode === "url" ? "Open the page" : words.accept), button("decline"), button("cancel")));
}

export function resultOf(result) {
  const texts = (result.content ?? []).map((one) => (one.type === "text" ? pretty(one.text) : JSON.stringify(one, null, 2)));
  const shown = result.structuredContent === undefined ? texts.join("\n") : JSON.stringify(result.structuredContent, null, 2);
  return h("div", {}, h("h2", {}, result.isError ? "The tool failed" : "Result"), h("pre", { tabindex: "0", role: "region", "aria-label": "Result", class: result.isError ? "fault" : "" }, shown));
}
