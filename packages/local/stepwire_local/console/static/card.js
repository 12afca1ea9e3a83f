// The host of a card: an iframe with an origin of its own, and the messages of MCP Apps (2026-01-26).
// A card may call the tools that the server made for it, and nothing else.

import { h } from "./dom.js";

const PROTOCOL = "2026-01-26";
const HIGHEST = 1200;

// The console's colours, by the names that MCP Apps gives them.
const COLOURS = {
  "--color-background-primary": "--paper",
  "--color-background-secondary": "--raised",
  "--color-background-inverse": "--accent-back",
  "--color-text-inverse": "--on-accent",
  "--color-text-primary": "--text",
  "--color-text-secondary": "--quiet",
  "--color-border-tertiary": "--line",
  "--color-text-info": "--running",
  "--color-background-info": "--running-soft",
  "--color-text-warning": "--waiting",
  "--color-background-warning": "--waiting-soft",
  "--color-text-success": "--succeeded",
  "--color-background-success": "--succeeded-soft",
  "--color-text-danger": "--failed",
  "--color-background-danger": "--failed-soft",
};

function variables() {
  const ours = getComputedStyle(document.documentElement);
  return Object.fromEntries(Object.entries(COLOURS).map(([name, own]) => [name, ours.getPropertyValue(own).trim()]));
}

export class CardHost {
  // `call` calls a tool of the server's; `note` is called with what the card tells the model, for there is none here.
  constructor({ call, html, task, isForCards, note }) {
    Object.assign(this, { call, html, task, isForCards, note, asked: 0 });
    this.frame = h("iframe", { class: "card-frame", sandbox: "allow-scripts", src: "/console/frame.html", title: `Card of ${task.title}` });
    this.listen = (event) => event.source === this.frame.contentWindow && this.heard(event.data);
    this.restyle = () => this.tell("ui/notifications/host-context-changed", this.context());
    addEventListener("message", this.listen);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.dark.addEventListener("change", this.restyle);
    addEventListener("console-theme", this.restyle);
  }

  close() {
    this.post({ id: `host-${++this.asked}`, method: "ui/resource-teardown", params: {} });
    removeEventListener("message", this.listen);
    removeEventListener("console-theme", this.restyle);
    this.dark.removeEventListener("change", this.restyle);
    this.frame.remove();
  }

  post(message) {
    // A sandboxed frame has no origin to name; nothing secret is in what it gets.
    this.frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  }

  tell(method, params) {
    this.post({ method, params });
  }

  context() {
    const theme = getComputedStyle(document.documentElement).getPropertyValue("color-scheme").trim();
    const isDark = theme === "dark" || (theme !== "light" && this.dark.matches);
    return {
      theme: isDark ? "dark" : "light",
      styles: { variables: variables() },
      displayMode: "inline",
      availableDisplayModes: ["inline"],
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      platform: "web",
      userAgent: "stepwire-console/1",
      containerDimensions: { width: this.frame.clientWidth, maxHeight: HIGHEST },
    };
  }

  async heard(message) {
    if (message?.ready) {
      this.frame.contentWindow.postMessage({ html: this.html }, "*");
      return;
    }
    if (message?.jsonrpc !== "2.0" || !message.method) return;
    if (message.id === undefined) {
      this.notified(message.method, message.params ?? {});
      return;
    }
    try {
      this.post({ id: message.id, result: await this.answer(message.method, message.params ?? {}) });
    } catch (error) {
      this.post({ id: message.id, error: { code: error.code ?? -32603, message: error.message } });
    }
  }

  notified(method, params) {
    if (method === "ui/notifications/initialized") {
      this.tell("ui/notifications/tool-input", { arguments: this.task.arguments ?? {} });
      const text = "A card shows the user the task.";
      this.tell("ui/notifications/tool-result", { content: [{ type: "text", text }], _meta: { "stepwire/card": { taskId: this.task.taskId } } });
    } else if (method === "ui/notifications/size-changed" && params.height > 0) {
      this.frame.style.height = `${Math.min(Math.ceil(params.height), HIGHEST)}px`;
    }
  }

  async answer(method, params) {
    switch (method) {
      case "ui/initialize":
        return {
          protocolVersion: PROTOCOL,
          hostInfo: { name: "stepwire-console", version: "1" },
          // There is no model here, so the card offers no message to one.
          hostCapabilities: { serverTools: {}, openLinks: {}, updateModelContext: { text: {} } },
          hostContext: this.context(),
        };
      case "tools/call":
        if (!this.isForCards(params.name)) throw Object.assign(new Error(`${params.name} is no tool of the card's.`), { code: -32602 });
        return this.call(params.name, params.arguments ?? {});
      case "ui/open-link":
        if (!/^https?:/.test(params.url ?? "")) throw Object.assign(new Error("Only web addresses are opened."), { code: -32602 });
        open(params.url, "_blank", "noopener,noreferrer");
        return {};
      case "ui/update-model-context":
        this.note(params);
        return {};
      case "ping":
        return {};
      default:
        throw Object.assign(new Error(`The console does not answer ${method}.`), { code: -32601 });
    }
  }
}
