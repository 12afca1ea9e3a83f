// The page: lists of tools and tasks, and what is chosen of them.

import { h, arrange, byId, clock, latest, listing, renew } from "./dom.js";
import { Client } from "./mcp.js";
import { isAsking, links, load, marks, pages, statusOf, waiting } from "./extras.js";
import { api, begin, HEADERS } from "./page.js";
import { TaskView } from "./task.js";
import { ToolView } from "./tool.js";
import { Wire } from "./wire.js";

const LOOK = 1000; // milliseconds between two looks at the list of tasks
const state = { about: null, client: null, connected: null, isLost: false, tools: [], tasks: [], view: null, task: null, calls: new Map(), forms: new Map() };

const token = async () => (await api("token", { method: "POST", headers: HEADERS })).token;
const isApp = (tool) => (tool._meta?.ui?.visibility ?? ["model"]).every((one) => one === "app");
const isForCards = (name) => state.tools.some((one) => one.name === name && (one._meta?.ui?.visibility ?? []).includes("app"));

const context = {
  api,
  token,
  say,
  attempt,
  isForCards,
  get client() { return state.client; },
  get endpoint() { return state.about.url; },
  get people() { return state.about.people; },
  toolNamed: (name) => state.tools.find((one) => one.name === name),
  taskOf: (taskId) => state.tasks.find((one) => one.taskId === taskId),
  // The name of a task's tool: of a call that was made here, or as the list says; undefined if neither knows it yet.
  toolOf: (taskId) => state.calls.get(taskId)?.tool ?? context.taskOf(taskId)?.tool,
  argumentsOf: (taskId) => state.calls.get(taskId)?.arguments,
  // The client of the protocol that was chosen last, once its tools are known.
  async connected() {
    await state.connected;
    if (state.client?.era !== byId("era").value) throw new Error("The tools of this protocol cannot be read at the moment. Please try again.");
    return state.client;
  },
  // Opens the task of a call, unless another view was chosen while the call was under way: something may be written there.
  started(view, taskId, args) {
    state.calls.set(taskId, { tool: view.tool, arguments: args });
    state.forms.delete(view.tool);
    if (view === state.view) location.hash = `#/tasks/${taskId}`;
  },
};

function say(words) {
  const place = byId("said");
  if (place.textContent !== words) place.textContent = words; // what is written again is read aloud again
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, 6000);
}

// Does something, and says why where it fails.
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    say(`The console cannot be reached: ${error.message}`);
  }
}

// ---------------------------------------------------------------- lists

function showTools() {
  const shown = state.tools.filter((one) => !isApp(one));
  byId("tools").replaceChildren(...shown.map((one) =>
    h("li", {}, h("a", { href: `#/tools/${encodeURIComponent(one.name)}` }, h("span", { class: "title" }, one.title ?? one.name), one.title ? h("code", {}, one.name) : null))));
  mark();
}

const list = listing(byId("tasks"), (one) => one.taskId, (one) => h("li", {}, h("a", { href: `#/tasks/${one.taskId}` })), (row, one) =>
  row.firstChild.replaceChildren(h("span", { class: "title" }, one.title), h("span", { class: "line" }, statusOf(one), marks(one), h("time", {}, clock(one.createdAt)))));

function showTasks() {
  byId("no-tasks").hidden = state.tasks.length > 0;
  for (const page of pages()) {
    const count = waiting(page, state.tasks);
    byId(`to-${page.kind}`).replaceChildren(h("span", { class: "title" }, page.words), count ? h("span", { class: "badge waiting" }, String(count)) : "");
  }
  list(state.tasks.map((one) => ({ ...one, title: context.toolNamed(one.tool)?.title ?? one.tool })));
  mark();
}

function mark() {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === location.hash) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

const readTasks = latest(() => api("tasks"), (tasks) => {
  state.tasks = tasks;
  showTasks();
});

async function look() {
  await attempt(async () => {
    await readTasks();
    if (state.isLost) await (state.connected = connect());
    await state.view?.look?.();
  });
  setTimeout(look, document.hidden ? 5 * LOOK : LOOK);
}

// ---------------------------------------------------------------- views

function show(view) {
  if (view === state.view) return;
  if (view.taskId && view !== state.task) {
    state.task?.close();
    state.task?.element.remove();
    state.task = view;
  }
  // The task that was left last stays, out of sight: an answer may be half written in its card, which would begin anew.
  if (state.task && view !== state.task) arrange(byId("left"), [state.task.element]);
  state.view = view;
  arrange(byId("main"), [view.element]);
  byId("main").scrollTop = 0;
  document.title = `${view.element.querySelector("h1").textContent} - Stepwire console`;
  mark();
  if (view.look) attempt(() => view.look());
}

// On a small screen the lists are a menu, which closes when something was chosen of it.
function unfold(isOpen) {
  document.querySelector(".columns").classList.toggle("is-open", isOpen);
  byId("menu").setAttribute("aria-expanded", String(isOpen));
}

// Who chose a view, goes on in it: the focus moves to its heading.
function followed() {
  unfold(false);
  route();
  const heading = byId("main").querySelector("h1");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function route() {
  if (!state.client) return; // what is shown says why
  const [, kind, name] = location.hash.split("/").map(decoded);
  if (kind === "tasks" && name) return show(state.task?.taskId === name ? state.task : new TaskView(context, name));
  if (kind === "messages") return show(allMessages());
  const page = pages().find((one) => one.kind === kind);
  if (page) return show(new page.View(context));
  const tool = context.toolNamed(kind === "tools" ? name : "");
  if (tool) return show(formFor(tool));
  return show(welcome(kind === "tools" ? `There is no tool ${name}.` : kind ? "There is no such page." : ""));
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // somebody typed it
  }
}

// A form that was left before its call began is there again with what was written in it, unless its tool has changed.
function formFor(tool) {
  const schema = JSON.stringify(tool.inputSchema);
  if (state.forms.get(tool.name)?.schema !== schema) state.forms.set(tool.name, Object.assign(new ToolView(context, tool), { schema }));
  return state.forms.get(tool.name);
}

const RECENT = 5;

// The start: each tool with what it does, the newest tasks, and what waits for an answer.
function welcome(missing) {
  const shown = state.tools.filter((one) => !isApp(one));
  const recent = h("ul", { class: "recent" }), others = h("p", {}), newest = h("h2", {}, "Newest tasks");
  const list = listing(recent, (one) => one.taskId, (one) => h("li", {}, h("a", { href: `#/tasks/${one.taskId}` })), (row, one) =>
    renew(row, h("a", { href: `#/tasks/${one.taskId}` }, titleOf(one.tool)), statusOf(one), h("time", { class: "quiet" }, clock(one.createdAt))));
  const look = () => {
    list(state.tasks.slice(0, RECENT));
    newest.hidden = !state.tasks.length;
    const count = state.tasks.filter(isAsking).length;
    const words = count === 1 ? "1 task waits for an answer." : `${count} tasks wait for an answer.`;
    if (others.textContent !== words) others.textContent = words;
    others.hidden = !count;
  };
  const element = h("div", { class: "welcome" }, missing ? h("p", { class: "fault", role: "alert" }, missing) : null, h("h1", {}, "Run a workflow"),
    h("p", {}, "Choose a tool to start it. A task shows its card, its workflow as it goes on, and each message of the protocol."), others, h("ul", { class: "tries" }, shown.map((one) => h("li", {}, h("a", { href: `#/tools/${encodeURIComponent(one.name)}` }, one.title ?? one.name), h("span", { class: "quiet" }, sentence(one.description ?? ""))))),
    newest, recent,
    h("p", { class: "quiet" }, "Any other client can use the same endpoint; its tasks appear here too."), h("pre", { tabindex: "0", role: "region", "aria-label": "Command" }, `claude mcp add --transport http stepwire ${state.about.url}`));
  look();
  return { waits: true, element, look };
}

const titleOf = (tool) => context.toolNamed(tool)?.title ?? tool;
const sentence = (words) => words.match(/^[^]*?[.](?=\s|$)/)?.[0] ?? words;

function allMessages() {
  const wire = new Wire();
  return { element: h("div", { class: "page" }, h("h1", {}, "Messages"), h("p", { class: "quiet" }, "The newest first, of all clients, as they went over the wire; tokens are redacted."), wire.element), look: () => wire.refresh(api) };
}

// ---------------------------------------------------------------- start

// What is shown stays when another protocol is chosen, for something may be written there; what waits for the tools is made anew.
async function connect() {
  const client = new Client(byId("era").value, state.about.url, state.about.signsIn ? token : async () => null);
  const isOld = () => client.era !== byId("era").value; // another one was chosen meanwhile
  const stays = () => state.view && !state.view.waits && (!state.view.tool || context.toolNamed(state.view.tool));
  try {
    const tools = await client.tools();
    if (isOld()) return;
    Object.assign(state, { client, tools, isLost: false });
    showTools();
    showTasks();
    if (!stays()) route();
  } catch (error) {
    if (isOld()) return;
    const isRefused = error.code === 401 || error.code === 403;
    state.isLost = !isRefused; // the next look tries again
    if (stays()) return say(`The tools cannot be read: ${error.message}`);
    const hint = isRefused ? "The console can sign in at the test issuer alone: start with `make run ISSUER=strict`, or without sign-in." : "";
    if (state.view?.fault !== error.message) show({ waits: true, fault: error.message, element: h("div", { class: "page" }, h("h1", {}, "No tools"), h("p", { class: "fault", role: "alert" }, error.message), h("p", {}, hint)) });
  }
}

async function start() {
  state.about = await api("stack");
  await load(state.about.scripts);
  byId("wire-title").before(...links());
  byId("endpoint").textContent = state.about.url;
  begin();
  byId("era").value = sessionStorage.getItem("era") ?? byId("era").value;
  byId("era").addEventListener("change", ({ target }) => {
    sessionStorage.setItem("era", target.value);
    state.connected = connect();
  });
  byId("menu").addEventListener("click", () => unfold(byId("menu").getAttribute("aria-expanded") !== "true"));
  addEventListener("hashchange", followed);
  await attempt(readTasks);
  await (state.connected = connect());
  look();
}

start().catch((error) => byId("main").replaceChildren(h("p", { class: "fault", role: "alert" }, `The console cannot be reached: ${error.message}. Please reload the page.`)));
