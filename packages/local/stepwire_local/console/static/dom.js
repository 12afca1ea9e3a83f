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

export function clock(iso) {
  return iso ? new Date(iso).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" }) : "";
}

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

const WORDS = { input_required: "needs an answer", working: "working", caught: "failed, caught", completed_with_error: "failed" };
// What a task waits for is shown instead of its status.
export const badge = (status, waitsFor) => h("span", { class: `badge ${waitsFor ? "waiting" : status}` }, waitsFor ?? WORDS[status] ?? status);
