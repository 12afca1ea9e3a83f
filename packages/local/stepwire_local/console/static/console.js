// The page: lists of tools and tasks, and what is chosen of them.

import { h, badge, byId, clock } from "./dom.js";
import { Client } from "./mcp.js";
import { formOf } from "./form.js";
import { questionForm, resultOf } from "./panel.js";
import { ApprovalsView } from "./approvals.js";
import { LinesView } from "./lines.js";
import { TaskView } from "./task.js";
import { Wire } from "./wire.js";

const LOOK = 1000; // milliseconds between two looks at the list of tasks
const SHORT = 240; // characters of a description that are shown at once
const HEADERS = { "x-stepwire-console": "1" };
const state = { about: null, client: null, connected: null, tools: [], tasks: [], view: null, calls: new Map() };

async function api(path, options) {
  const answer = await fetch(`/console/api/${path}`, options);
  if (!answer.ok) throw new Error((await answer.json()).message);
  return answer.json();
}

const token = async () => (await api("token", { method: "POST", headers: HEADERS })).token;
const isApp = (tool) => (tool._meta?.ui?.visibility ?? ["model"]).every((one) => one === "app");
const isForCards = (name) => state.tools.some((one) => one.name === name && (one._meta?.ui?.visibility ?? []).includes("app"));

const context = {
  api,
  token,
  say,
  isForCards,
  get client() { return state.client; },
  get endpoint() { return state.about.url; },
  get people() { return state.about.people; },
  toolNamed: (name) => state.tools.find((one) => one.name === name),
  taskOf: (taskId) => state.tasks.find((one) => one.taskId === taskId),
  // The name of a task's tool: of a call that was made here, or as the list says; undefined if neither knows it yet.
  toolOf: (taskId) => state.calls.get(taskId)?.tool ?? context.taskOf(taskId)?.tool,
  argumentsOf: (taskId) => state.calls.get(taskId)?.arguments,
};

function say(words) {
  const place = byId("said");
  place.textContent = words;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, 6000);
}

// ---------------------------------------------------------------- lists

function showTools() {
  const shown = state.tools.filter((one) => !isApp(one));
  byId("tools").replaceChildren(...shown.map((one) =>
    h("li", {}, h("a", { href: `#/tools/${encodeURIComponent(one.name)}` }, h("span", { class: "title" }, one.title ?? one.name), one.title ? h("code", {}, one.name) : null))));
  mark();
}

let listed = "";

function showTasks() {
  const now = JSON.stringify(state.tasks);
  if (now === listed) return;
  listed = now;
  byId("no-tasks").hidden = state.tasks.length > 0;
  for (const [place, words, data] of [["to-approvals", "Questions to others", "waitsFor"], ["to-lines", "Lines", "inLine"]]) {
    const waiting = state.tasks.filter((one) => one[data]).length;
    byId(place).replaceChildren(h("span", { class: "title" }, words), waiting ? h("span", { class: "badge waiting" }, String(waiting)) : "");
  }
  byId("tasks").replaceChildren(...state.tasks.map((one) =>
    h("li", {}, h("a", { href: `#/tasks/${one.taskId}` }, h("span", { class: "title" }, context.toolNamed(one.tool)?.title ?? one.tool), h("span", { class: "line" }, badge(one.status, one.waitsFor ?? one.inLine), one.blocked ? h("span", { class: "badge failed" }, "caller blocked") : "", h("time", {}, clock(one.createdAt)))))));
  mark();
}

function mark() {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === location.hash) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Two looks may be under way at once, and their answers may overtake each other: an older one never replaces a newer one.
let asked = 0;
let taken = 0;

async function readTasks() {
  const order = ++asked;
  const tasks = await api("tasks");
  if (order < taken) return;
  taken = order;
  state.tasks = tasks;
  showTasks();
}

async function look() {
  try {
    await readTasks();
    await state.view?.look?.();
  } catch (error) {
    say(`The console cannot be reached: ${error.message}`);
  }
  setTimeout(look, document.hidden ? 5 * LOOK : LOOK);
}

// ---------------------------------------------------------------- views

function show(view) {
  state.view?.close?.();
  state.view = view;
  byId("main").replaceChildren(view.element);
  byId("main").scrollTop = 0;
  mark();
}

// Who chose a view, goes on in it: the focus moves to its heading.
function followed() {
  route();
  const heading = byId("main").querySelector("h1");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function route() {
  const [, kind, name] = location.hash.split("/").map(decodeURIComponent);
  if (kind === "tasks" && name) return show(new TaskView(context, name));
  if (kind === "messages") return show(allMessages());
  if (kind === "lines") return show(new LinesView(context));
  if (kind === "approvals") return show(new ApprovalsView(context));
  const tool = context.toolNamed(kind === "tools" ? name : "");
  if (tool) return show(toolView(tool));
  return show(welcome(kind === "tools" ? `There is no tool ${name}.` : kind ? "There is no such page." : ""));
}

function welcome(missing) {
  return { element: h("div", { class: "welcome" }, missing ? h("p", { class: "fault", role: "alert" }, missing) : null, h("h1", {}, "Run a workflow"),
    h("p", {}, "Choose a tool to start it. A task shows its card, its workflow as it goes on, and each message of the protocol."),
    h("p", { class: "quiet" }, "Any other client can use the same endpoint; its tasks appear here too."), h("pre", { tabindex: "0", role: "region", "aria-label": "Command" }, `claude mcp add --transport http stepwire ${state.about.url}`)) };
}

function allMessages() {
  const wire = new Wire();
  const look = () => wire.refresh(api);
  look();
  return { element: h("div", { class: "page" }, h("h1", {}, "Messages"), h("p", { class: "quiet" }, "The newest first, of all clients, as they went over the wire; tokens are redacted."), wire.element), look };
}

function toolView(tool) {
  const fields = formOf(tool.inputSchema);
  const raw = h("textarea", { class: "code", rows: "10", id: "raw", spellcheck: "false", hidden: true, "aria-label": "Arguments as JSON" });
  const asJson = h("input", { type: "checkbox", id: "as-json" });
  const out = h("div", { class: "out", "aria-live": "polite" });
  const button = h("button", { class: "primary" }, "Start");
  asJson.addEventListener("change", () => {
    if (asJson.checked) raw.value = JSON.stringify(fields.read() ?? {}, null, 2);
    raw.hidden = !asJson.checked;
    fields.element.hidden = asJson.checked;
  });
  const read = () => {
    if (!asJson.checked) return fields.read();
    try {
      return JSON.parse(raw.value);
    } catch (error) {
      out.replaceChildren(h("p", { class: "fault" }, `This is no JSON: ${error.message}`));
      return null;
    }
  };
  const start = async (event) => {
    event.preventDefault();
    const args = read();
    if (args === null) return;
    button.disabled = true;
    await run(tool, args, out);
    button.disabled = false;
  };
  const more = [tool.execution?.taskSupport === "forbidden" ? "ends at once" : "", tool.annotations?.readOnlyHint ? "reads only" : "", tool.annotations?.destructiveHint ? "may change or delete things" : ""].filter(Boolean).join(" · ");
  return { tool: tool.name, element: h("div", { class: "page" }, h("h1", {}, tool.title ?? tool.name), h("p", { class: "line" }, h("code", {}, tool.name), h("span", { class: "quiet" }, more)),
    described(tool.description ?? ""),
    h("form", { class: "call", novalidate: true, onsubmit: start }, fields.isEmpty ? h("p", { class: "quiet" }, "It takes no arguments.") : null, fields.element, raw,
      h("div", { class: "row" }, button, h("div", { class: "field boolean" }, asJson, h("label", { for: "as-json" }, "as JSON")))), out) };
}

// A long description must not push the form out of sight: it opens by a click.
function described(words) {
  if (words.length <= SHORT) return h("p", { class: "description" }, words);
  const begin = words.slice(0, words.lastIndexOf(" ", SHORT) + 1 || SHORT);
  const whole = h("p", { class: "description" }, `${begin}... `);
  whole.append(h("button", { type: "button", class: "small", onclick: () => { whole.textContent = words; } }, "Read on"));
  return whole;
}

// Calls a tool in the protocol that was chosen last; its task opens, a question before it is asked, a plain result is shown.
async function run(tool, args, out, more = {}) {
  out.replaceChildren(h("p", { class: "quiet" }, "Calling ..."));
  try {
    await state.connected;
    const result = await state.client.call(context.toolNamed(tool.name) ?? tool, args, more);
    const taskId = result.task?.taskId ?? result.taskId;
    if (taskId) {
      state.calls.set(taskId, { tool: tool.name, arguments: args });
      location.hash = `#/tasks/${taskId}`;
    } else if (result.inputRequests) {
      askFirst(tool, args, out, result);
    } else {
      out.replaceChildren(resultOf(result));
    }
  } catch (error) {
    out.replaceChildren(h("p", { class: "fault" }, error.message), error.data ? h("pre", { tabindex: "0", role: "region", "aria-label": "Details" }, JSON.stringify(error.data, null, 2)) : "");
  }
}

function askFirst(tool, args, out, { inputRequests, requestState }) {
  out.replaceChildren(...Object.entries(inputRequests).map(([key, one]) =>
    questionForm(one.params, (answer) => run(tool, args, out, { inputResponses: { [key]: answer }, ...(requestState ? { requestState } : {}) }))));
}

// ---------------------------------------------------------------- start

function theme(name) {
  document.documentElement.style.colorScheme = name || "";
  dispatchEvent(new Event("console-theme"));
}

// A form that is being filled in stays, for what is written in it is the same in both protocols; every other view is made anew.
async function connect() {
  const client = new Client(byId("era").value, state.about.url, state.about.signsIn ? token : async () => null);
  try {
    const tools = await client.tools();
    if (client.era !== byId("era").value) return; // another one was chosen meanwhile
    Object.assign(state, { client, tools });
    showTools();
    listed = "";
    showTasks();
    if (!(state.view?.tool && context.toolNamed(state.view.tool))) route();
  } catch (error) {
    if (client.era !== byId("era").value) return;
    const hint = error.code === 401 || error.code === 403 ? "The console can sign in at the test issuer alone: start with `make run ISSUER=strict`, or without sign-in." : "";
    show({ element: h("div", { class: "page" }, h("h1", {}, "No tools"), h("p", { class: "fault" }, error.message), h("p", {}, hint)) });
  }
}

async function start() {
  state.about = await api("stack");
  byId("endpoint").textContent = state.about.url;
  const kept = localStorage.getItem("theme") ?? "";
  byId("theme").value = kept;
  theme(kept);
  byId("theme").addEventListener("change", ({ target }) => {
    localStorage.setItem("theme", target.value);
    theme(target.value);
  });
  byId("era").value = sessionStorage.getItem("era") ?? byId("era").value;
  byId("era").addEventListener("change", ({ target }) => {
    sessionStorage.setItem("era", target.value);
    state.connected = connect();
  });
  addEventListener("hashchange", followed);
  await readTasks();
  await (state.connected = connect());
  look();
}

start();
