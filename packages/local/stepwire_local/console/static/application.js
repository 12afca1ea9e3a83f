// The page of an application of its own kind: its routes, functions, workflows, tables and queues, and its requests.

import { h, arrange, badge, byId, clock, lasting, pretty } from "./dom.js";
import { Graph } from "./graph.js";
import { api, begin, HEADERS } from "./page.js";
import { Wire } from "./wire.js";

const LOOK = 1000; // milliseconds between two looks
const state = { found: null, view: null };

const region = (label, text) => h("pre", { tabindex: "0", role: "region", "aria-label": label }, text);
const page = (title, ...rest) => h("div", { class: "page" }, h("h1", {}, title), ...rest);
const table = (heads, rows) => h("table", {}, h("thead", {}, h("tr", {}, heads.map((one) => h("th", { scope: "col" }, one)))), h("tbody", {}, rows.map((row) => h("tr", {}, row.map((one) => h("td", {}, one))))));
const none = (words) => h("p", { class: "quiet" }, words);
const link = (kind, name) => h("a", { href: `#/${kind}/${encodeURIComponent(name)}` }, name);

// ---------------------------------------------------------------- lists

function lists({ functions, tables, queues, machines }) {
  const list = (title, kind, names) => (names.length ? [h("h2", {}, title), h("ul", { "aria-label": title }, names.map((name) => h("li", {}, link(kind, name))))] : []);
  const one = (title, hash, words) => [h("h2", {}, title), h("ul", { "aria-label": title }, h("li", {}, h("a", { href: hash }, words)))];
  arrange(byId("lists"), [
    ...one("API", "#/", "Routes"), ...one("Wire", "#/requests", "All requests"), ...list("Functions", "functions", functions.map(({ name }) => name)),
    ...(machines.length ? one("Workflows", "#/executions", "Executions") : []),
    ...list("Tables", "tables", tables.map(({ name }) => name)), ...list("Queues", "queues", queues.map(({ name }) => name))]);
  mark();
}

function mark() {
  for (const one of document.querySelectorAll("nav a")) {
    if (one.getAttribute("href") === (location.hash || "#/")) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

// ---------------------------------------------------------------- views: { element, look }; `look` reads again

// A view whose content is made anew when what it reads has changed.
function read(title, path, show) {
  const body = h("div", { class: "entries" });
  let shown = null;
  const look = async () => {
    const found = await api(path), now = JSON.stringify(found);
    if (now !== shown) body.replaceChildren(...[show(found)].flat());
    shown = now;
  };
  return { element: page(title, body), look };
}

const overview = () => read("Routes", "application", ({ routes, queues, tables, notServed }) => [
  routes.length ? table(["route", "sign-in"], routes.map((one) => [h("code", {}, one.key), one.signIn === "NONE" ? "" : one.signIn])) : none("The application has no routes."),
  notServed.length ? h("div", {}, h("h2", {}, "Not served, or not as in AWS"), h("ul", {}, notServed.map((one) => h("li", {}, one)))) : null,
  tables.length ? table(["table", "items"], tables.map((one) => [link("tables", one.name), String(one.items)])) : null,
  queues.length ? table(["queue", "waiting", "taken", "delayed"], queues.map((one) => [link("queues", one.name), ...["waiting", "taken", "delayed"].map((each) => String(one[each]))])) : null].filter(Boolean));

const items = (name) => read(name, `items/${encodeURIComponent(name)}`, (found) => (found.length ? found.map((one) => region("Item", JSON.stringify(one, null, 2))) : none("The table is empty.")));

const queued = (name) => read(name, `queued/${encodeURIComponent(name)}`, (found) => (found.length ? found.map((one) => region("Message", pretty(one.body))) : none("The queue is empty.")));

const executions = () => read("Executions", "executions", (found) => (found.length
  ? table(["execution", "workflow", "status", "started"], found.map((one) => [link("executions", one.name), one.machine, badge(one.status.toLowerCase()), clock(one.startedAt)]))
  : none("No workflow has run yet.")));

function execution(name) {
  const status = h("p", { class: "status-line" }), fault = h("p", { class: "fault" }), canvas = h("div", { class: "canvas-holder" });
  let graph = null;
  const look = async () => {
    const one = await api(`executions/${encodeURIComponent(name)}`);
    if (!graph) {
      graph = new Graph(await api(`graphs/${one.graph}`), () => {});
      canvas.replaceChildren(graph.element);
      graph.fit();
    }
    graph.show(one);
    status.replaceChildren(badge(one.status.toLowerCase()), h("span", { class: "quiet" }, `${one.machine} · ${clock(one.startedAt)} · ${lasting(one.startedAt, one.stoppedAt || undefined)}`));
    fault.textContent = [one.error, one.cause].filter(Boolean).join(": ");
  };
  return { element: page(name, status, fault, h("section", { class: "workflow", "aria-label": "Workflow" }, canvas)), look };
}

function invocation(name) {
  const { notRun } = state.found.functions.find((one) => one.name === name) ?? {};
  const event = h("textarea", { class: "code", rows: 8, id: "event" }, "{}"), result = h("div", {});
  const invoke = async () => {
    result.replaceChildren(none("It runs."));
    try {
      JSON.parse(event.value);
      const found = await api(`invocations/${encodeURIComponent(name)}`, { method: "POST", headers: { ...HEADERS, "content-type": "application/json" }, body: event.value });
      result.replaceChildren(h("h2", {}, found.error ? "The function failed" : "Result"), region("Result", found.error ? [found.error, ...(found.trace ?? [])].join("\n") : JSON.stringify(found.result, null, 2)));
    } catch (error) {
      result.replaceChildren(h("p", { class: "fault", role: "alert" }, error.message));
    }
  };
  return { element: page(name, notRun ? h("p", { class: "fault" }, notRun) : null, h("div", { class: "field long" }, h("label", { for: "event" }, "Event"), event), h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: invoke }, "Invoke")), result) };
}

function requests() {
  const wire = new Wire(null, { polls: false });
  return { element: page("Requests", none("The newest first, as they went over the wire; tokens are redacted."), wire.element), look: () => wire.refresh(api) };
}

const VIEWS = { functions: invocation, tables: items, queues: queued, executions: (name) => (name ? execution(name) : executions()), requests };

function route() {
  const [, kind, name] = location.hash.split("/");
  state.view = (VIEWS[kind] ?? overview)(decodeURIComponent(name ?? ""));
  arrange(byId("main"), [state.view.element]);
  document.title = `${state.view.element.querySelector("h1").textContent} - ${state.found.name}`;
  mark();
  return look();
}

async function look() {
  try {
    await state.view.look?.();
    byId("said").textContent = "";
  } catch (error) {
    byId("said").textContent = `The console cannot show this: ${error.message}`;
  }
}

async function start() {
  state.found = { ...(await api("stack")), ...(await api("application")) };
  byId("endpoint").textContent = state.found.url;
  begin();
  addEventListener("hashchange", route);
  lists(state.found);
  await route();
  const again = async () => {
    if (!document.hidden) await look();
    setTimeout(again, LOOK);
  };
  setTimeout(again, LOOK);
}

start().catch((error) => byId("main").replaceChildren(h("p", { class: "fault", role: "alert" }, `The console cannot be reached: ${error.message}. Please reload the page.`)));
