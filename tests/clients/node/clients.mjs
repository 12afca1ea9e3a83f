// The released TypeScript clients, connected: what the other programs of this folder begin with.
//
// `capabilities` is what the client declares; `answer` gets the parameters of each elicitation.
export const MODERN = "2026-07-28";
const ANYTHING = { "~standard": { version: 1, vendor: "stepwire", validate: (value) => ({ value }) } };

// @modelcontextprotocol/sdk 1.x, which speaks 2025-11-25.
export async function connectedSdk(url, info, capabilities = {}, answer = undefined) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema, ResultSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, { capabilities });
  if (answer) client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(url));
  return { client, request: (method, params) => client.request({ method, params }, ResultSchema) };
}

// @modelcontextprotocol/client 2.x, in the era of `mode`.
export async function connectedClient(url, info, mode, capabilities = {}, answer = undefined) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  if (answer) client.setRequestHandler("elicitation/create", async ({ params }) => answer(params));
  await client.connect(new StreamableHTTPClientTransport(url));
  return { client, request: (method, params) => client.request({ method, params }, ANYTHING) };
}

// A session of @modelcontextprotocol/ext-tasks over a client 2.x; tasks are the extension's unless `mode` is "legacy".
export async function taskSession(client, url, info, mode, capabilities, answer) {
  const { createTaskSessionFromClient } = await import("@modelcontextprotocol/ext-tasks/client");
  const framing = { protocolVersion: MODERN, clientInfo: info, clientCapabilities: capabilities };
  const rawDispatch = (envelope) => dispatch(url, envelope);
  const more = mode === "legacy" ? {} : { rawDispatch, v2RequestFraming: framing };
  const onInputRequest = async (request) => answer(request.params);
  return createTaskSessionFromClient(client, { endpointId: "stepwire", onInputRequest, ...more });
}

// The coordinator that `ext-tasks` asks of its host: it sends what the library's own codecs do not know.
async function dispatch(url, envelope) {
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
