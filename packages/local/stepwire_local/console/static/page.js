// What both pages of the console have: its API, the theme, and the link to the content.

import { byId } from "./dom.js";

export const HEADERS = { "x-stepwire-console": "1" };

export async function api(path, options) {
  const answer = await fetch(`/console/api/${path}`, options);
  const found = await answer.json().catch(() => ({ message: `it answered with status ${answer.status}, and no JSON` }));
  if (!answer.ok) throw new Error(found.message);
  return found;
}

function theme(name) {
  document.documentElement.style.colorScheme = name || "";
  dispatchEvent(new Event("console-theme"));
}

export function begin() {
  const kept = localStorage.getItem("theme") ?? "";
  byId("theme").value = kept;
  theme(kept);
  byId("theme").addEventListener("change", ({ target }) => {
    localStorage.setItem("theme", target.value);
    theme(target.value);
  });
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault(); // its address is no view's
    byId("main").focus();
  });
}
