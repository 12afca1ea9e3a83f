// What extras add to the page. Each is the default export of a script of its own:
// page    { kind, heading, words, View }: a view at #/KIND, and the link to it;
// waits   says of a task what it waits for, which is shown instead of its status; empty: nothing;
// asks    whether that is an answer, of somebody;
// mark    an element beside a task in the lists;
// beside  an element beside a task's status on its own page.

import { badge, h } from "./dom.js";

let extras = [];

export async function load(scripts) {
  extras = (await Promise.all(scripts.map((name) => import(`./${name}`)))).map((one) => one.default);
}

const each = (name, task) => extras.map((one) => one[name]?.(task)).filter(Boolean);

export const pages = () => extras.map((one) => one.page).filter(Boolean);
export const waiting = ({ kind }, tasks) => tasks.filter(extras.find(({ page }) => page?.kind === kind).waits).length;
export const isAsking = (task) => task.status === "input_required" || extras.some((one) => one.asks && one.waits(task));
export const statusOf = (task) => badge(task.status, each("waits", task)[0]);
export const marks = (task) => each("mark", task);
export const beside = (task) => each("beside", task);

// The links to the pages, in the list on the left.
export const links = () => pages().flatMap(({ kind, heading, words }) => [
  h("h2", { id: `${kind}-title` }, heading),
  h("ul", { "aria-labelledby": `${kind}-title` }, h("li", {}, h("a", { href: `#/${kind}`, id: `to-${kind}` }, h("span", { class: "title" }, words))))]);
