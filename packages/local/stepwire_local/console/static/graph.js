// Draws a state machine as layout.js has laid it out, and colours it as the execution goes on.

import { svg, h, lasting } from "./dom.js";
import { drawn } from "./layout.js";

const MARKS = { Task: "", Choice: "?", Wait: "…", Pass: "→", Succeed: "✓", Fail: "×", Map: "≡", Parallel: "‖" };
const SAID = { running: "running", waiting: "waiting", succeeded: "passed", failed: "failed", caught: "failed, caught", aborted: "stopped" };

export class Graph {
  // `scope` is what the server says of a definition; `choose` is called with the name of a state.
  constructor(scope, choose) {
    const drawing = drawn(scope);
    this.drawing = drawing;
    this.choose = choose;
    this.nodes = new Map();
    this.edges = [];
    this.zoom = 1;
    this.picture = svg("svg", { class: "graph", role: "group", "aria-label": "States of the workflow", viewBox: `0 0 ${drawing.width} ${drawing.height}` });
    const inner = new Set(drawing.nodes.filter((one) => drawing.frames.some((frame) => frame.parent === one.name)).map((one) => one.name));
    this.picture.append(
      arrows(),
      ...drawing.nodes.filter((one) => inner.has(one.name)).map((one) => this.container(one)),
      ...drawing.frames.map((one) => svg("rect", { class: "frame", x: one.x, y: one.y, width: one.w, height: one.h, rx: 10 })),
      ...drawing.edges.map((one) => this.edge(one)),
      ...drawing.nodes.filter((one) => !inner.has(one.name)).map((one) => this.node(one)),
    );
    this.view = h("div", { class: "canvas", tabindex: "-1" }, this.picture);
    this.element = h("div", { class: "graph-box" }, this.view, this.tools());
  }

  tools() {
    const button = (words, label, act) => h("button", { type: "button", class: "small", title: label, "aria-label": label, onclick: act }, words);
    return h("div", { class: "zoom" }, button("−", "Smaller", () => this.scale(this.zoom / 1.25)), button("+", "Larger", () => this.scale(this.zoom * 1.25)), button("Fit", "Fit to the frame", () => this.fit(true)));
  }

  // The whole width, never larger than life; `whole` the height too.
  fit(whole = false) {
    const { clientWidth, clientHeight } = this.view;
    const wide = (clientWidth - 2) / this.drawing.width;
    this.scale(Math.min(1, wide, whole ? (clientHeight - 2) / this.drawing.height : 1));
  }

  scale(zoom) {
    this.zoom = Math.min(2, Math.max(0.1, zoom));
    this.picture.setAttribute("width", this.drawing.width * this.zoom);
    this.picture.setAttribute("height", this.drawing.height * this.zoom);
  }

  edge(one) {
    const label = [one.kind === "catch" ? "on error" : "", one.number || "", one.words].filter(Boolean).join(" ");
    const path = svg("path", { class: `edge ${one.kind}`, d: one.d, "marker-end": "url(#arrow)" }, label ? svg("title", {}, label) : null);
    this.edges.push({ ...one, path });
    return path;
  }

  container(one) {
    const box = svg("rect", { class: "box", width: one.w, height: one.h, rx: 12 });
    return this.state(one, [box, this.words(one, 22)]);
  }

  node(one) {
    if (one.type === "Start" || one.type === "End") {
      const r = one.w / 2;
      const shape = svg("circle", { class: "dot", cx: one.x + r, cy: one.y + r, r }, svg("title", {}, one.type));
      this.nodes.set(one.name, { group: shape, one });
      return shape;
    }
    const box = svg("rect", { class: "box", width: one.w, height: one.h, rx: one.type === "Choice" ? 23 : 9 });
    return this.state(one, [box, this.words(one, one.h / 2)]);
  }

  words(one, y) {
    const most = Math.floor((one.w - 46) / 7.2);
    const name = one.name.length > most ? `${one.name.slice(0, most - 1)}…` : one.name;
    const mark = svg("text", { class: "mark", x: 18, y: y + 5, "text-anchor": "middle" }, MARKS[one.type] || "ƒ");
    const count = svg("text", { class: "count", x: one.w - 10, y: y + 4.5, "text-anchor": "end" });
    return [mark, svg("text", { class: "name", x: 34, y: y + 4.5 }, name), count];
  }

  state(one, parts) {
    const press = (event) => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(one.name);
    };
    const title = svg("title", {}, `${one.name}: ${one.type}${one.action ? `, ${one.action}` : ""}`);
    const group = svg("g", { class: "state", transform: `translate(${one.x} ${one.y})`, tabindex: 0, role: "button", "data-name": one.name, onclick: press, onkeydown: press }, title, parts);
    this.nodes.set(one.name, { group, one });
    this.say(group, one, null);
    return group;
  }

  say(group, one, state) {
    const count = state?.visits > 1 ? `, ${state.visits} times` : "";
    group.setAttribute("aria-label", `${one.name}, ${one.type}, ${state ? SAID[state.status] : "not reached"}${count}`);
  }

  // Colours what has happened: `states` by name, `taken` the ways.
  show({ states, taken, status }) {
    const went = new Set(taken.map(([from, to]) => `${from}\n${to}`));
    for (const [name, { group, one }] of this.nodes) {
      const state = states[name];
      group.dataset.status = one.type === "Start" ? "succeeded" : one.type === "End" && status === "SUCCEEDED" ? "succeeded" : state?.status ?? "";
      if (!group.matches("g")) continue;
      this.say(group, one, state);
      group.querySelector(".count").textContent = countOf(state);
    }
    for (const { source, target, path } of this.edges) path.classList.toggle("taken", went.has(`${source}\n${target}`));
    this.follow(states);
  }

  // Brings the state that is active into the frame, once each time that another one becomes so.
  follow(states) {
    const name = Object.keys(states).find((one) => ["running", "waiting"].includes(states[one].status) && this.nodes.has(one));
    if (!name || name === this.followed) return;
    this.followed = name;
    const { x, y, w, h } = this.nodes.get(name).one;
    const { clientWidth, clientHeight } = this.view;
    this.view.scrollTo((x + w / 2) * this.zoom - clientWidth / 2, (y + Math.min(h, 200) / 2) * this.zoom - clientHeight / 2);
  }

  select(name) {
    for (const [key, { group }] of this.nodes) group.classList.toggle("selected", key === name);
  }
}

function countOf(state) {
  if (!state) return "";
  if (state.tries > 1 && state.visits === 1) return `${state.tries} tries`;
  if (state.visits < 2) return "";
  const done = state.counts.succeeded ?? 0;
  return done === state.visits ? `×${done}` : `${done}/${state.visits}`;
}

export const timesOf = (visit) => `${lasting(visit.entered, visit.exited || undefined)}${visit.exited ? "" : " so far"}`;

function arrows() {
  const tip = svg("path", { d: "M0,0.5 L7,4 L0,7.5 Z", fill: "context-stroke" });
  return svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto" }, tip));
}
