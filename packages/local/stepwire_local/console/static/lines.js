// The lines of tools with a limit: how long they are, who runs, and who waits in which place.

import { h, lasting } from "./dom.js";

const SHOWN = 8; // characters of a caller's hash

export class LinesView {
  constructor(context) {
    this.context = context;
    this.list = h("div", { class: "approvals" });
    this.element = h("div", { class: "page" }, h("h1", {}, "Lines"),
      h("p", { class: "quiet" }, "A tool with a limit runs so many executions at once; the other calls wait here, and callers take turns."), this.list);
    this.look();
  }

  async look() {
    const found = await this.context.api("lines");
    this.list.replaceChildren(...found.map((one) => this.line(one)));
    if (!found.length) this.list.replaceChildren(h("p", {}, "Nobody waits. Call a tool with a limit more often than it may run at once, such as the reservation of an item."));
  }

  line(one) {
    const state = [one.paused ? "paused" : "", one.drained ? "takes no calls" : ""].filter(Boolean).join(", ");
    const counts = `${one.running}${one.most === null ? "" : ` of ${one.most}`} run, ${one.waiting} wait`;
    const callers = one.callers.map(({ principal, waiting }) => `${principal.slice(0, SHOWN)}: ${waiting}`).join(", ");
    return h("section", { class: "approval", "aria-label": `Line ${one.pool}` },
      h("p", { class: "line" }, h("strong", {}, one.pool), h("span", { class: "badge waiting" }, counts), state ? h("span", { class: "quiet" }, state) : null),
      h("dl", { class: "facts" }, h("dt", {}, "Oldest"), h("dd", {}, `waits for ${lasting(one.oldestSince)}`),
        h("dt", {}, "Executions took lately"), h("dd", {}, one.tookMs === null ? "none has ended yet" : `${(one.tookMs / 1000).toFixed(1)} s`),
        h("dt", {}, "By caller"), h("dd", {}, callers)),
      h("table", {}, h("thead", {}, h("tr", {}, ["Place", "Task", "Caller", "For"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, one.turns.map((turn) => this.row("runs", turn)), one.places.map((place) => this.row(String(place.position), place)))),
      one.waiting > one.places.length ? h("p", { class: "quiet" }, `Not shown here: ${one.waiting - one.places.length} more.`) : null);
  }

  row(place, { taskId, caller, since }) {
    const tool = this.context.toolOf(taskId), title = this.context.toolNamed(tool)?.title ?? tool ?? taskId;
    return h("tr", {}, h("td", {}, place), h("td", {}, h("a", { href: `#/tasks/${taskId}` }, title)),
      h("td", {}, caller ? h("code", {}, caller.slice(0, SHOWN)) : "", this.context.taskOf(taskId)?.blocked ? " blocked" : ""), h("td", {}, lasting(since)));
  }
}
