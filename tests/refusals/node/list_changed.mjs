// What the released TypeScript client does with `listChanged`: it listens as it connects, and lists the tools anew.
//
//     node list_changed.mjs URL
//
// Then it listens once more, for something else: whatever it had sent by itself in between would be seen.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const sent = [];
const changes = [];
let tools = [];
let heard;
const changed = new Promise((resolve) => (heard = resolve));

function counted(url, init) {
  sent.push(JSON.parse(init.body).method);
  return fetch(url, init);
}

function onChanged(error, found) {
  changes.push(error);
  tools = found.map(({ name }) => name);
  heard();
}

const options = { versionNegotiation: { mode: "auto" }, listChanged: { tools: { onChanged } } };
const client = new Client({ name: "an app", version: "1" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2]), { fetch: counted }));
const first = await client.autoOpenedSubscription.closed;
await changed;
const second = await (await client.listen({ resourcesListChanged: true })).closed;
await client.close();
console.log(JSON.stringify({ sent, changes, tools, ends: [first, second] }));
