// A small MCP client for both eras of the protocol, on fetch.

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";
const META = "io.modelcontextprotocol/";
const INFO = { name: "stepwire-console", version: "1" };
const TASKS = "io.modelcontextprotocol/tasks";
const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
const ELICITATION = { form: {}, url: {} };

export class McpError extends Error {
  constructor(error) {
    super(error.message ?? "The call failed.");
    this.code = error.code;
    this.data = error.data;
  }
}

// Reads the answer with an id: JSON, or one of the messages of a body of server-sent events.
export function answerIn(text, contentType, id) {
  if (!contentType.startsWith("text/event-stream")) return JSON.parse(text);
  const data = text.split(/\r?\n\r?\n/).map((event) =>
    event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n"));
  return data.filter(Boolean).map((one) => JSON.parse(one)).find((one) => one.id === id && !one.method);
}

function read(text, { status, headers }, id) {
  try {
    return answerIn(text, headers.get("content-type") ?? "", id);
  } catch {
    throw new McpError({ code: status, message: `The endpoint answered with status ${status}, and no JSON.` });
  }
}

export class Client {
  // `token` returns a promise of a bearer token, or of null where none is needed.
  constructor(era, url, token) {
    Object.assign(this, { era, url, token, last: 0, session: null, bearer: undefined });
  }

  get isModern() {
    return this.era === MODERN;
  }

  async request(method, params = {}, named = "", headers = {}) {
    if (!this.isModern && !this.session && method !== "initialize") await this.initialize();
    const id = ++this.last;
    const body = this.isModern ? { ...params, _meta: { ...params._meta, ...this.meta() } } : params;
    const answer = await this.post({ jsonrpc: "2.0", id, method, params: body }, named, headers);
    const message = read(await answer.text(), answer, id);
    if (!message) throw new McpError({ message: "The answer is not complete yet: try again later." });
    if (message.error) throw new McpError(message.error);
    if (message.message && !message.jsonrpc) throw new McpError({ code: answer.status, message: message.message });
    if (method === "initialize") this.session = answer.headers.get("mcp-session-id");
    return message.result;
  }

  async post(message, named, more) {
    if (this.bearer === undefined) this.bearer = await this.token();
    const send = () => fetch(this.url, { method: "POST", body: JSON.stringify(message), headers: this.headers(message, named, more) });
    let answer = await send();
    if (answer.status === 401 && this.bearer) {
      this.bearer = await this.token();
      answer = await send();
    }
    if (answer.status === 401) throw new McpError({ code: 401, message: "The endpoint requires a sign-in." });
    return answer;
  }

  headers(message, named, more) {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(message.method === "initialize" ? {} : { "mcp-protocol-version": this.era }),
      ...more,
    };
    if (this.bearer) headers.authorization = `Bearer ${this.bearer}`;
    if (this.session) headers["mcp-session-id"] = this.session;
    if (this.isModern) headers["mcp-method"] = message.method;
    if (this.isModern && named) headers["mcp-name"] = headerValue(named);
    return headers;
  }

  meta() {
    return {
      [`${META}protocolVersion`]: MODERN,
      [`${META}clientInfo`]: INFO,
      [`${META}clientCapabilities`]: { elicitation: ELICITATION, extensions: { [TASKS]: {}, ...UI } },
    };
  }

  async initialize() {
    const tasks = { list: {}, cancel: {}, requests: { elicitation: { create: {} } } };
    const capabilities = { elicitation: ELICITATION, tasks, extensions: UI };
    await this.request("initialize", { protocolVersion: LEGACY, clientInfo: INFO, capabilities });
    await this.post({ jsonrpc: "2.0", method: "notifications/initialized" }, "", {});
  }

  async tools() {
    const found = [];
    let cursor;
    do {
      const page = await this.request("tools/list", cursor ? { cursor } : {});
      found.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor);
    return found;
  }

  // Calls a tool as a task where it may be one; `more` holds the answers of a round.
  async call(tool, args, more = {}) {
    const isTask = !this.isModern && ["optional", "required"].includes(tool.execution?.taskSupport);
    const params = { name: tool.name, arguments: args, ...(isTask ? { task: {} } : {}), ...more };
    return this.request("tools/call", params, tool.name, parameterHeaders(tool, args));
  }

  tool(name, args) {
    return this.request("tools/call", { name, arguments: args }, name);
  }

  task(taskId) {
    return this.request("tasks/get", { taskId }, taskId);
  }

  cancel(taskId) {
    return this.request("tasks/cancel", { taskId }, taskId);
  }

  answer(taskId, key, answer) {
    return this.request("tasks/update", { taskId, inputResponses: { [key]: answer } }, taskId);
  }

  async resource(uri) {
    const { contents } = await this.request("resources/read", { uri }, uri);
    return contents[0];
  }
}

// Arguments that a tool's schema marks are repeated in headers of 2026-07-28.
function parameterHeaders(tool, args) {
  const marked = Object.entries(tool.inputSchema?.properties ?? {}).filter(([name, one]) => one["x-mcp-header"] && name in args);
  return Object.fromEntries(marked.map(([name, one]) => [`mcp-param-${one["x-mcp-header"]}`, headerValue(String(args[name]))]));
}

function headerValue(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}
