// The callers whom an operator has blocked, beside their tasks.

import { clock, h } from "./dom.js";

const sentence = ({ since, operator, reason }) => `Its caller is blocked${since ? ` since ${clock(since)}` : ""}${operator ? ` by ${operator}` : ""}${reason ? `: ${reason}` : "."}`;

export default {
  mark: (task) => task.blocked && h("span", { class: "badge failed" }, "caller blocked"),
  beside: (task) => task.blocked && h("span", { class: "fault" }, sentence(task.blocked)),
};
