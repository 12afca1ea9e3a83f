// Makes elements; text is always text, so nothing that a server sends can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== false && one !== ""));
  return element;
}

export const h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

export function svg(tag, properties, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(9).filter(Boolean));
  return element;
}

export const byId = (id) => document.getElementById(id);

// Puts these children in a place. What is there already is not taken out: it keeps the focus, and what is written in it;
// so does what comes from another place, if the browser can move it.
export function arrange(place, children) {
  const wanted = new Set(children);
  for (const one of [...place.children]) if (!wanted.has(one)) one.remove();
  const put = (one, before) => (one.isConnected && place.moveBefore ? place.moveBefore(one, before) : place.insertBefore(one, before));
  children.forEach((one, at) => place.children[at] === one || put(one, place.children[at] ?? null));
}

// Returns a function that shows a list as it is now: an item's element is made once, and filled again when its data change.
export function listing(place, keyOf, make, fill) {
  let rows = new Map();
  return (items) => {
    rows = new Map(items.map((item) => {
      const key = keyOf(item), data = JSON.stringify(item), row = rows.get(key) ?? { element: make(item) };
      if (row.data !== data) fill(row.element, item);
      return [key, { ...row, data }];
    }));
    arrange(place, [...rows.values()].map((row) => row.element));
  };
}

// Replaces what is in a place; who has the focus there keeps it, on what has the same address or the same words.
export function renew(place, ...children) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...children.filter(Boolean));
  const isSame = (one) => (held.href ? one.href === held.href : one.textContent === held.textContent);
  if (held) [...place.querySelectorAll(held.localName)].find(isSame)?.focus({ preventScroll: true });
}

// Does one thing at a time: meanwhile the buttons of an element do nothing and say so. They keep the focus, as `disabled` ones would not.
export async function alone(element, act) {
  if (element.ariaBusy === "true") return;
  const buttons = [...element.querySelectorAll("button")];
  element.ariaBusy = "true";
  for (const one of buttons) one.ariaDisabled = "true";
  try {
    await act();
  } finally {
    element.ariaBusy = null;
    for (const one of buttons) one.ariaDisabled = null;
  }
}

// Returns a function that reads and shows: what an earlier reading brings late is not shown after a later one's.
export function latest(read, show) {
  let asked = 0, shown = 0;
  return async () => {
    const order = ++asked, found = await read();
    if (order < shown) return;
    shown = order;
    await show(found);
  };
}

// Times are in UTC and in one form, as the server writes them in its sentences.
export const clock = (iso) => (iso ? `${new Date(iso).toISOString().slice(11, 19)} UTC` : "");
export const moment = (iso) => (iso ? `${new Date(iso).toISOString().slice(0, 16).replace("T", " ")} UTC` : "");

export function lasting(from, to) {
  const ms = new Date(to ?? Date.now()) - new Date(from);
  if (!from || Number.isNaN(ms)) return "";
  if (ms < 1000) return `${Math.max(ms, 0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const WORDS = { input_required: "needs an answer", working: "working", caught: "failed, caught", completed_with_error: "completed, with an error" };
// What a task waits for is shown instead of its status.
export const badge = (status, waitsFor) => h("span", { class: `badge ${waitsFor ? "waiting" : status}` }, waitsFor ?? WORDS[status] ?? status);
