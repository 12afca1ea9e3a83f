// The messages that went over the wire, as a list; each opens to its headers and bodies.

import { h, clock, pretty } from "./dom.js";

const MOST = 400;

export class Wire {
  // Messages of a task or of all; `polls`: whether there may be polls, which can be hidden.
  constructor(taskId = null, { polls = true } = {}) {
    this.taskId = taskId;
    this.last = 0;
    this.rows = h("ol", { class: "wire" });
    this.filter = h("input", { type: "checkbox", id: `polls-${taskId ?? "all"}`, onchange: () => this.element.classList.toggle("no-polls", this.filter.checked) });
    this.none = h("p", { class: "quiet" }, "No messages yet.");
    this.element = h("div", { class: "wire-box" }, polls && h("div", { class: "field boolean" }, this.filter, h("label", { for: this.filter.id }, "Hide polls")), this.none, this.rows);
  }

  async refresh(api) {
    const query = new URLSearchParams({ after: this.last, ...(this.taskId ? { task: this.taskId } : {}) });
    const found = await api(`messages?${query}`);
    for (const one of found) {
      if (one.number <= this.last) continue; // another look that was under way has brought it
      this.rows.prepend(row(one));
      this.last = one.number;
    }
    while (this.rows.children.length > MOST) this.rows.lastChild.remove();
    this.none.hidden = this.rows.children.length > 0;
  }
}

function row(one) {
  const isPoll = one.method === "tasks/get" || (one.method === "tools/call" && one.tool === "card_task");
  const what = [one.method, one.tool !== "-" ? one.tool : ""].filter(Boolean).join(" ");
  const body = h("div", { class: "exchange" });
  const open = () => body.children.length || body.append(...parts(one));
  return h("li", { class: isPoll ? "poll" : "" },
    h("details", { ontoggle: open, "data-number": String(one.number), "data-method": one.method, "data-era": one.era },
      h("summary", {},
        h("time", {}, clock(one.time)), h("span", { class: "era" }, one.era), h("b", {}, what), h("span", { class: "client quiet" }, one.client),
        h("span", { class: one.status >= 400 || one.error ? "fault" : "quiet" }, `${one.status}${one.error ? ` ${one.error}` : ""}`),
        h("span", { class: "quiet" }, `${one.milliseconds} ms`)),
      body));
}

function parts(one) {
  return [
    part(`${one.request_line} HTTP/1.1`, one.request_headers, one.request, "Request"),
    part(`HTTP/1.1 ${one.status}`, one.response_headers, one.response, "Response"),
  ];
}

function part(line, headers, body, name) {
  const text = [line, ...headers.map(([key, value]) => `${key}: ${value}`)].join("\n");
  const shown = body.split("\n").map((row) => (row.startsWith("data:") ? `data: ${pretty(row.slice(5))}` : row)).join("\n");
  const pre = (words, label) => h("pre", { tabindex: "0", role: "region", "aria-label": label }, words);
  return h("div", {}, h("h2", {}, name), pre(text, `Headers of the ${name.toLowerCase()}`), body ? pre(pretty(shown), `Body of the ${name.toLowerCase()}`) : h("p", { class: "quiet" }, "No body."));
}
