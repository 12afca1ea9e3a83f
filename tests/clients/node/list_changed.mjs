// What the released TypeScript client does with `listChanged` at a server that does not claim it: nothing.
//
//     node list_changed.mjs URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

let changes = 0;
const options = { versionNegotiation: { mode: "auto" }, listChanged: { tools: { onChanged: () => (changes += 1) } } };
const client = new Client({ name: "an app", version: "1" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await client.listTools();
const listens = client.autoOpenedSubscription !== undefined;
await client.close();
console.log(JSON.stringify({ changes, listens }));
