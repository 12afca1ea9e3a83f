// Subscribes with the AI SDK's client, calls a tool, and prints what the AI SDK's webhook handler took: one JSON line.
// Arguments: the endpoint, a token, a tool, its arguments as JSON.
import { createServer } from "node:http";
import { createMCPClient, experimental_createMCPEventWebhook as createMCPEventWebhook } from "@ai-sdk/mcp";

const [endpoint, token, tool, given] = process.argv.slice(2);
const subscriptions = new Map();
const store = {
  get: async (key) => subscriptions.get(key),
  getById: async (id) => [...subscriptions.values()].find((one) => one.id === id),
  set: async (one) => void subscriptions.set(one.key, one),
  update: async (key, patch) => void subscriptions.set(key, { ...subscriptions.get(key), ...patch }),
  delete: async (key) => void subscriptions.delete(key),
};
const statuses = [];
const event = Promise.withResolvers();
const take = createMCPEventWebhook({
  store,
  onEvent: async (taken) => event.resolve(taken),
  onError: (error) => event.reject(error),
});
const server = createServer(async (request, response) => {
  const chunks = await Array.fromAsync(request);
  const url = `http://${request.headers.host}${request.url}`;
  const answer = await take(
    new Request(url, { method: request.method, headers: request.headers, body: Buffer.concat(chunks) }),
  );
  statuses.push(answer.status);
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));

const client = await createMCPClient({
  transport: { type: "http", url: endpoint, headers: { Authorization: `Bearer ${token}` } },
  experimental_events: { store },
});
const url = `http://127.0.0.1:${server.address().port}/hook`;
const { events } = await client.experimental_events.list();
const subscribed = await client.experimental_events.subscribe({
  name: "task.finished",
  delivery: { mode: "webhook", url, allowInsecureLocalhost: true },
});
const tools = await client.tools();
await tools[tool].execute(JSON.parse(given), { toolCallId: "one", messages: [] });
const taken = await event.promise;
await client.experimental_events.refresh({ id: subscribed.id });
await client.experimental_events.unsubscribe({ id: subscribed.id });
console.log(JSON.stringify({ types: events.map((one) => one.name), subscribed, taken, statuses, left: subscriptions.size }));
await client.close();
server.close();
process.exit(0);
