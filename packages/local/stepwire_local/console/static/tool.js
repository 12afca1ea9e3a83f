// A tool: the form of its arguments, and what came of a call of it.

import { h, alone } from "./dom.js";
import { exampleOf, formOf } from "./form.js";
import { questionForm, resultOf } from "./panel.js";

const SHORT = 240; // characters of a description that are shown at once

export class ToolView {
  constructor(context, tool) {
    Object.assign(this, { context, known: tool, tool: tool.name, title: tool.title ?? tool.name, fields: formOf(tool.inputSchema), written: "" });
    this.raw = h("textarea", { class: "code", rows: "10", id: "raw", spellcheck: "false", hidden: true, "aria-label": "Arguments as JSON" });
    this.asJson = h("input", { type: "checkbox", id: "as-json", onchange: () => this.turn() });
    this.out = h("div", {});
    this.said = h("div", {});
    const more = [tool.execution?.taskSupport === "forbidden" ? "ends at once" : "", tool.annotations?.readOnlyHint ? "reads only" : "", tool.annotations?.destructiveHint ? "may change or delete things" : ""].filter(Boolean).join(" · ");
    this.element = h("div", { class: "page" }, h("h1", {}, this.title), h("p", { class: "line" }, tool.title ? h("code", {}, tool.name) : "", h("span", { class: "quiet" }, more)),
      described(tool.description ?? ""),
      h("form", { class: "call", novalidate: true, onsubmit: (event) => this.start(event) }, this.fields.isEmpty ? h("p", { class: "quiet" }, "It takes no arguments.") : null, this.fields.element, this.raw,
        h("div", { class: "row" }, h("button", { class: "primary" }, "Start"), h("div", { class: "field boolean" }, this.asJson, h("label", { for: "as-json" }, "as JSON")), exampleOf(tool.inputSchema) && h("button", { type: "button", onclick: () => this.try() }, "Fill in an example"))),
      h("div", { class: "out", "aria-live": "polite" }, this.out, this.said));
  }

  // Shows the arguments as JSON, or what was written there as fields again.
  turn() {
    if (this.asJson.checked) {
      this.raw.value = this.written = JSON.stringify(this.fields.draft(), null, 2);
    } else if (this.raw.value !== this.written) {
      const values = this.json();
      this.asJson.checked = values === null;
      if (values === null) return;
      this.fill(values);
    }
    this.raw.hidden = !this.asJson.checked;
    this.fields.element.hidden = this.asJson.checked;
  }

  fill(values) {
    const fields = formOf(this.known.inputSchema, { values });
    this.fields.element.replaceWith(fields.element);
    this.fields = fields;
  }

  try() {
    this.asJson.checked = false;
    this.raw.hidden = true;
    this.fill(exampleOf(this.known.inputSchema));
  }

  json() {
    try {
      const found = JSON.parse(this.raw.value);
      if (typeof found === "object" && found && !Array.isArray(found)) return found;
      this.tell("Please give an object, such as {}.");
    } catch (error) {
      this.tell(`This is no JSON: ${error.message}`);
    }
    return null;
  }

  tell(words, kind = "fault", ...more) {
    this.said.replaceChildren(h("p", { class: kind }, words), ...more);
  }

  start(event) {
    event.preventDefault();
    const args = this.asJson.checked ? this.json() : this.fields.read();
    if (args === null) return;
    alone(this.element, () => {
      this.out.replaceChildren();
      return this.call(args);
    });
  }

  // Calls the tool; its task opens, a question before it is asked, a plain result is shown. Until then every form stays.
  async call(args, more = {}) {
    this.tell("Calling ...", "quiet");
    try {
      const client = await this.context.connected();
      const result = await client.call(this.context.toolNamed(this.tool) ?? this.known, args, more);
      this.said.replaceChildren();
      this.answered(args, result);
    } catch (error) {
      this.tell(error.message, "fault", error.data ? h("pre", { tabindex: "0", role: "region", "aria-label": "Details" }, JSON.stringify(error.data, null, 2)) : "");
    }
  }

  answered(args, result) {
    const taskId = result.task?.taskId ?? result.taskId;
    if (taskId) this.context.started(this, taskId, args);
    else if (result.inputRequests) this.out.replaceChildren(...this.questions(args, result));
    else this.out.replaceChildren(resultOf(result));
    if (!this.element.isConnected) this.context.say(`${this.title} has ${taskId ? "started" : "answered"}.`);
  }

  questions(args, { inputRequests, requestState }) {
    const answers = (key, answer) => ({ inputResponses: { [key]: answer }, ...(requestState ? { requestState } : {}) });
    return Object.entries(inputRequests).map(([key, one]) => questionForm(one.params, (answer) => alone(this.element, () => this.call(args, answers(key, answer)))));
  }
}

// A long description must not push the form out of sight: it opens by a click.
function described(words) {
  if (words.length <= SHORT) return h("p", { class: "description" }, words);
  const begin = words.slice(0, words.lastIndexOf(" ", SHORT) + 1 || SHORT);
  const whole = h("p", { class: "description", tabindex: "-1" }, `${begin}... `);
  const open = () => {
    whole.textContent = words;
    whole.focus();
  };
  whole.append(h("button", { type: "button", class: "small", onclick: open }, "Read on"));
  return whole;
}
