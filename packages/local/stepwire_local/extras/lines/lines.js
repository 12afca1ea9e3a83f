// The lines of tools with a limit: how long they are, who runs, and who waits in which place.

import { h, lasting, latest, listing, renew } from "./dom.js";

const SHOWN = 8; // characters of a caller's hash

class LinesView {
  constructor(context) {
    this.context = context;
    this.list = h("div", { class: "entries" });
    this.none = h("p", {}, "Nobody waits. Call a tool with a limit more often than it may run at once, such as the reservation of an item.");
    this.none.hidden = true;
    this.element = h("div", { class: "page" }, h("h1", {}, "Lines"),
      h("p", { class: "quiet" }, "A tool with a limit runs so many executions at once; the other calls wait here, and callers take turns."), this.list, this.none);
    const list = listing(this.list, (one) => one.pool, (one) => h("section", { class: "entry", "aria-label": `Line ${one.pool}` }), (section, one) => renew(section, ...this.line(one)));
    this.look = latest(() => context.api("lines"), (found) => {
      list(found.map((one) => ({ ...one, turns: one.turns.map((each) => this.named(each)), places: one.places.map((each) => this.named(each)) })));
      this.none.hidden = found.length > 0;
      for (const one of this.list.querySelectorAll("[data-since]")) one.textContent = lasting(one.dataset.since);
    });
  }

  line(one) {
    const state = [one.paused ? "paused" : "", one.drained ? "takes no calls" : ""].filter(Boolean).join(", ");
    const counts = `${one.running}${one.most === null ? "" : ` of ${one.most}`} run, ${one.waiting} wait`;
    const callers = one.callers.map(({ principal, waiting }) => `${principal.slice(0, SHOWN)}: ${waiting}`).join(", ");
    return [
      h("p", { class: "line" }, h("strong", {}, one.pool), h("span", { class: "badge waiting" }, counts), state ? h("span", { class: "quiet" }, state) : null),
      h("dl", { class: "facts" }, h("dt", {}, "Oldest"), h("dd", {}, "waits for ", h("span", { "data-since": one.oldestSince })),
        h("dt", {}, "Executions took lately"), h("dd", {}, one.tookMs === null ? "none has ended yet" : `${(one.tookMs / 1000).toFixed(1)} s`),
        h("dt", {}, "By caller"), h("dd", {}, callers)),
      h("table", {}, h("thead", {}, h("tr", {}, ["Place", "Task", "Caller", "For"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, one.turns.map((turn) => this.row("runs", turn)), one.places.map((place) => this.row(String(place.position), place)))),
      one.waiting > one.places.length ? h("p", { class: "quiet" }, `Not shown here: ${one.waiting - one.places.length} more.`) : null,
    ];
  }

  named(one) {
    const tool = this.context.toolOf(one.taskId), title = this.context.toolNamed(tool)?.title ?? tool ?? one.taskId;
    return { ...one, title, isBlocked: Boolean(this.context.taskOf(one.taskId)?.blocked) };
  }

  row(place, { taskId, caller, since, title, isBlocked }) {
    return h("tr", {}, h("td", {}, place), h("td", {}, h("a", { href: `#/tasks/${taskId}` }, title)),
      h("td", {}, caller ? h("code", {}, caller.slice(0, SHOWN)) : "", isBlocked ? " blocked" : ""), h("td", { "data-since": since }));
  }
}

export default {
  page: { kind: "lines", heading: "Limits", words: "Lines", View: LinesView },
  waits: (task) => task.inLine,
  beside: (task) => task.inLine && h("a", { href: "#/lines" }, "See the line"),
};
