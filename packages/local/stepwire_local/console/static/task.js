// A task: how it stands (its card), the graph of its workflow, the states and the messages.

import { h, badge, byId, clock, lasting, renew } from "./dom.js";
import { CardHost } from "./card.js";
import { beside, statusOf } from "./extras.js";
import { Graph, timesOf } from "./graph.js";
import { Panel } from "./panel.js";
import { Wire } from "./wire.js";

const HINT = "Choose a state of the graph to see its times, its input and its output.";
const LIVE = 700; // milliseconds between two looks at an execution that runs
const QUIET = 4000;

export class TaskView {
  constructor(context, taskId) {
    Object.assign(this, { context, taskId, chosen: null, visitAt: 0, execution: null, graphs: new Map() });
    this.heading = h("h1", {});
    this.status = h("span", { class: "line" });
    this.head = h("div", { class: "head" }, this.heading, this.status, h("code", { class: "id" }, taskId));
    this.side = h("div", { class: "side" });
    this.attempts = h("div", { class: "attempts", role: "group", "aria-label": "Executions" });
    this.canvas = h("div", { class: "canvas-holder" }, h("p", { class: "quiet padded" }, "No execution yet."));
    this.legend = h("div", { class: "legend" }, legend(), h("p", { class: "quiet" }, HINT));
    this.legend.hidden = true;
    this.times = h("span", { class: "quiet" });
    this.state = h("div", { class: "state-detail" });
    this.wire = new Wire(taskId);
    this.notes = h("div", { class: "notes" });
    this.panes = { state: this.state, messages: this.wire.element };
    this.tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Details" }, this.tab("state", "State"), this.tab("messages", "Messages"));
    this.element = h("div", { class: "task" }, this.head,
      h("div", { class: "pair" }, this.side, h("section", { class: "workflow", "aria-label": "Workflow" }, this.attempts, this.canvas, this.legend)),
      h("section", { class: "details", "aria-label": "Details" }, this.tabs, this.paneOf("state"), this.paneOf("messages")));
    this.pick("state");
    this.explain();
    this.identify();
    this.refresh();
  }

  // Learns the tool of the task, and shows the card of that tool; a task that is not listed yet is identified by a later look.
  identify() {
    const name = this.context.toolOf(this.taskId);
    this.isIdentified = name !== undefined;
    this.tool = this.context.toolNamed(name);
    this.title = this.tool?.title ?? name ?? "A task";
    this.heading.textContent = this.title;
    this.shown?.close();
    this.showCard();
  }

  look() {
    if (!this.isIdentified && this.context.toolOf(this.taskId) !== undefined) this.identify();
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.shown?.close();
  }

  tab(name, words) {
    const move = (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const other = name === "state" ? "messages" : "state";
      this.pick(other);
      byId(`tab-${other}`).focus();
    };
    return h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}`, onclick: () => this.pick(name), onkeydown: move }, words);
  }

  paneOf(name) {
    return h("div", { role: "tabpanel", id: `pane-${name}`, "aria-labelledby": `tab-${name}`, class: "pane" }, this.panes[name]);
  }

  pick(name) {
    for (const one of Object.keys(this.panes)) {
      const tab = this.element.querySelector(`#tab-${one}`);
      tab.setAttribute("aria-selected", String(one === name));
      tab.tabIndex = one === name ? 0 : -1;
      this.element.querySelector(`#pane-${one}`).hidden = one !== name;
    }
  }

  // The card, if the server has one for this tool; else the console's own panel.
  async showCard() {
    const { client, endpoint, token, say } = this.context;
    const uri = this.tool?._meta?.ui?.resourceUri;
    let html = null;
    try {
      if (uri && this.context.isForCards("card_task")) html = (await client.resource(uri)).text;
    } catch (error) {
      say(`The card cannot be read: ${error.message}`);
    }
    if (this.isClosed) return;
    if (html) {
      const task = { taskId: this.taskId, title: this.title, arguments: this.context.argumentsOf(this.taskId) };
      this.shown = new CardHost({ call: (name, args) => this.context.client.tool(name, args), html, task, isForCards: this.context.isForCards, note: (params) => this.note(params) });
      this.side.replaceChildren(this.shown.frame, this.notes);
    } else {
      this.shown = new Panel({ client, taskId: this.taskId, endpoint, token, say });
      this.side.replaceChildren(this.shown.element);
    }
  }

  note(params) {
    const words = "For the model to know";
    const text = (params.content ?? []).map((one) => one.text ?? "").join("\n");
    this.notes.replaceChildren(h("h2", {}, words), h("pre", { tabindex: "0", role: "region", "aria-label": words }, text || JSON.stringify(params.structuredContent, null, 2)));
  }

  // Whether another page is shown meanwhile: then nothing is read or drawn.
  get isLeft() {
    return this.element.closest("[hidden]") !== null;
  }

  async refresh() {
    let pause = LIVE;
    try {
      if (!this.isLeft) await this.read();
      const known = this.context.taskOf(this.taskId);
      if (known && !this.isLeft && !["working", "input_required"].includes(known.status)) pause = QUIET;
    } catch (error) {
      pause = QUIET;
      this.context.say(`The console cannot be reached: ${error.message}`);
    }
    if (!this.isClosed) this.timer = setTimeout(() => this.refresh(), document.hidden ? QUIET : pause);
  }

  async read() {
    const { executions } = await this.context.api(`tasks/${this.taskId}`);
    if (this.isClosed) return;
    const known = this.context.taskOf(this.taskId);
    if (known) this.showStatus(known);
    await this.showExecutions(executions);
    await this.wire.refresh(this.context.api);
  }

  showStatus(known) {
    const now = JSON.stringify(known);
    if (now === this.known) return;
    this.known = now;
    renew(this.status, statusOf(known), ...beside(known));
  }

  async showExecutions(executions) {
    if (!executions.length) return;
    const one = executions.find((each) => each.name === this.pinned) ?? executions.at(-1);
    Object.assign(this, { executions, execution: one });
    const changed = JSON.stringify(executions.map((each) => [each.name, each.status])) + one.name;
    if (changed !== this.seen) {
      this.seen = changed;
      renew(this.attempts, ...this.attemptButtons(executions, one));
    }
    this.times.textContent = `${clock(one.startedAt)} · ${lasting(one.startedAt, one.stoppedAt || undefined)}`;
    const graph = await this.graphOf(one);
    if (this.execution !== one || this.isLeft) return; // another attempt or page was chosen meanwhile
    if (graph !== this.graph) this.draw(graph);
    graph.show(one);
    const states = JSON.stringify([one.name, one.states]);
    if (this.chosen && states !== this.states) await this.showState(this.chosen);
    this.states = states;
  }

  attemptButtons(executions, shown) {
    const words = (each, index) => (executions.length > 1 ? `Attempt ${index + 1}` : each.machine);
    const pin = (each) => {
      this.pinned = each.name;
      this.visitAt = 0;
      this.context.attempt(() => this.showExecutions(this.executions));
    };
    return [h("h2", {}, shown.machine), ...(executions.length > 1 ? executions.map((each, index) =>
      h("button", { type: "button", class: "small", "aria-pressed": String(each.name === shown.name), onclick: () => pin(each) }, words(each, index), " ", h("span", { class: `spot ${each.status}` }))) : []), this.times];
  }

  async graphOf({ graph }) {
    if (!this.graphs.has(graph)) this.graphs.set(graph, new Graph(await this.context.api(`graphs/${graph}`), (name) => this.context.attempt(() => this.choose(name))));
    return this.graphs.get(graph);
  }

  draw(graph) {
    this.graph = graph;
    this.canvas.replaceChildren(graph.element);
    this.legend.hidden = false;
    graph.fit();
    if (!graph.nodes.has(this.chosen)) this.explain();
    graph.select(this.chosen);
  }

  async choose(name) {
    Object.assign(this, { chosen: name, visitAt: 0 });
    this.graph.select(name);
    this.pick("state");
    await this.showState(name);
    this.element.querySelector(".details").scrollIntoView({ block: "nearest" });
  }

  explain() {
    Object.assign(this, { chosen: null, shownState: "" });
    this.state.replaceChildren(h("p", { class: "quiet" }, "No state is chosen."));
  }

  async showState(name) {
    const execution = this.execution.name;
    const found = await this.context.api(`states/${this.taskId}?${new URLSearchParams({ execution, state: name })}`);
    if (this.isClosed || this.chosen !== name || this.execution.name !== execution) return;
    const index = Math.min(this.visitAt || found.visits.length, found.visits.length);
    const now = JSON.stringify([name, index, found]);
    if (now === this.shownState) return;
    const node = this.graph.nodes.get(name).one, isOpen = this.state.dataset.name === name && this.state.querySelector("details")?.open;
    this.shownState = now;
    this.state.dataset.name = name;
    renew(this.state, h("h2", {}, name, " ", h("span", { class: "quiet" }, [node.type, node.action].filter(Boolean).join(" · "))),
      ...(found.visits.length ? this.visit(name, found.visits, index) : [h("p", { class: "quiet" }, "Not reached in this execution.")]),
      h("details", { open: isOpen }, h("summary", {}, "Definition"), region("Definition", JSON.stringify(found.definition, null, 2))));
  }

  visit(name, visits, index) {
    const one = visits[index - 1];
    const go = (to) => {
      this.visitAt = to;
      this.context.attempt(() => this.showState(name));
    };
    const pager = visits.length > 1 && h("div", { class: "row" },
      h("button", { type: "button", class: "small", disabled: index < 2, onclick: () => go(index - 1) }, "Earlier"),
      h("span", {}, `${index} of ${visits.length}`),
      h("button", { type: "button", class: "small", disabled: index >= visits.length, onclick: () => go(index + 1) }, "Later"));
    const tries = one.tries > 1 ? ` · ${one.tries} tries` : "";
    return [h("p", { class: "status-line" }, badge(one.status), h("span", { class: "quiet" }, `${clock(one.entered)} · ${timesOf(one)}${tries}`), pager),
      one.error ? h("p", { class: "fault" }, h("b", {}, one.error), one.cause ? ` ${one.cause}` : "") : null,
      h("div", { class: "two" }, h("div", {}, h("h3", {}, "Input"), region("Input", one.input)), h("div", {}, h("h3", {}, "Output"), one.output ? region("Output", one.output) : h("p", { class: "quiet" }, "None yet.")))];
  }
}

const region = (name, text) => h("pre", { tabindex: "0", role: "region", "aria-label": name }, text);

function legend() {
  const parts = [["running", "running"], ["waiting", "waiting"], ["succeeded", "passed"], ["failed", "failed"], ["caught", "failed, caught"]];
  return h("ul", { "aria-label": "Legend" }, parts.map(([name, words]) => h("li", {}, h("span", { class: `spot ${name}` }), words)), h("li", {}, h("span", { class: "dash" }), "on error"));
}
