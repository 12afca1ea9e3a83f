// What the released TypeScript clients see of refusals, all in one session.
//
//     node driver.mjs URL < plan.json
//
// `plan.library` says which: "sdk" (1.x), "client" (2.x, in the era of `plan.mode`), or "ext-tasks" over "client".
import { readFileSync } from "node:fs";

const ANYTHING = { "~standard": { version: 1, vendor: "stepwire", validate: (value) => ({ value }) } };
const MODERN = "2026-07-28";
const plan = JSON.parse(readFileSync(0, "utf8"));
const url = new URL(process.argv[2]);
const user = { answers: [], asked: [] };
const info = { name: plan.name, version: "1" };
const capabilities = {
  ...(plan.can_ask ? { elicitation: { form: {} } } : {}),
  ...(plan.with_tasks ? { extensions: { "io.modelcontextprotocol/tasks": {} } } : {}),
};

function answer(params) {
  user.asked.push(params.message);
  return user.answers.shift();
}

async function oldClient() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema, ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, { capabilities });
  if (plan.can_ask) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(url));
  const request = (method, params) => client.request({ method, params }, ResultSchema);
  return { client, request, call: (name, args) => client.callTool({ name, arguments: args }) };
}

async function newClient() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(info, { capabilities, versionNegotiation: { mode: plan.mode } });
  if (plan.can_ask) client.setRequestHandler("elicitation/create", async ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(url));
  const request = (method, params) => client.request({ method, params }, ANYTHING);
  return { client, request, call: (name, args) => client.callTool({ name, arguments: args }) };
}

// The coordinator that `ext-tasks` asks of its host: it sends what the library's own codecs do not know.
async function dispatch(envelope) {
  const { method, params } = envelope;
  const name = params.taskId ?? params.name;
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": MODERN,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: envelope.id ?? crypto.randomUUID(), method, params });
  const answered = await (await fetch(url, { method: "POST", headers, body })).json();
  return answered.error ? { kind: "error", error: answered.error } : { kind: "result", result: answered.result };
}

async function withTasks(opened) {
  const { createTaskSessionFromClient, resultFromTaskOutcome } = await import("@modelcontextprotocol/ext-tasks/client");
  const framing = { protocolVersion: MODERN, clientInfo: info, clientCapabilities: capabilities };
  const more = plan.mode === "legacy" ? {} : { rawDispatch: dispatch, v2RequestFraming: framing };
  const onInputRequest = async (request) => answer(request.params);
  const session = createTaskSessionFromClient(opened.client, { endpointId: "stepwire", onInputRequest, ...more });
  const call = async (name, args) => {
    const execution = await session.callTool(name, args);
    return resultFromTaskOutcome((await execution.settle()).outcome);
  };
  return { ...opened, call };
}

// The error of a body, where the library gives it as text, or the error itself.
function told(error) {
  const body = /\{"jsonrpc".*\}/.exec(error.message)?.[0];
  return body === undefined ? { code: error.code, message: error.message } : JSON.parse(body).error;
}

async function asked(opened, method, params) {
  try {
    return { result: await opened.request(method, params) };
  } catch (error) {
    return { error: told(error) };
  }
}

async function walked(opened, requests) {
  let seen = {};
  let taskId;
  for (const [method, params] of requests) {
    seen = await asked(opened, method, params.taskId === "$task" ? { ...params, taskId } : params);
    taskId ??= seen.result?.task?.taskId;
  }
  return seen;
}

async function talked(opened, talk) {
  user.answers = [...talk.answers];
  user.asked = [];
  return { result: await opened.call(talk.tool, talk.arguments), asked: user.asked };
}

const library = plan.library === "sdk" ? await oldClient() : await newClient();
const opened = plan.library === "ext-tasks" ? await withTasks(library) : library;
const seen = {};
for (const [name, requests] of Object.entries(plan.ways)) {
  seen[name] = [await walked(opened, requests), await asked(opened, ...plan.then)];
}
for (const [name, talk] of Object.entries(plan.talks)) {
  seen[name] = [await talked(opened, talk), await asked(opened, ...plan.then)];
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
