// Reads {"tools": [...], "results": {tool: CallToolResult}} and prints what a released client makes of each result:
// "taken", or why it refuses it. The server is a stub in memory, which speaks 2025-11-25 and gives what it was told to.
import { readFileSync } from "node:fs";

const [library] = process.argv.slice(2);
const { Client } = await import(
  library === "sdk" ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client"
);
const { tools, results } = JSON.parse(readFileSync(0, "utf8"));

class Stub {
  async start() {}
  async close() {}
  async send(message) {
    if (message.id === undefined) return;
    const result = {
      initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "stub", version: "1" } }),
      "tools/list": () => ({ tools }),
      "tools/call": () => results[message.params.name],
    }[message.method]();
    queueMicrotask(() => this.onmessage({ jsonrpc: "2.0", id: message.id, result }));
  }
}

const client = new Client({ name: "a test", version: "1" });
await client.connect(new Stub());
await client.listTools();
const seen = {};
for (const name of Object.keys(results)) {
  try {
    await client.callTool({ name, arguments: {} });
    seen[name] = "taken";
  } catch (error) {
    seen[name] = String(error);
  }
}
console.log(JSON.stringify(seen));
await client.close();
