// What the released TypeScript clients get from long work by Stepwire's tools.
//
//     node fetch.mjs URL < plan.json
//
// `plan.library` says which: "sdk" (1.x) or "client" (2.x, in the era of `plan.mode`).
import { readFileSync } from "node:fs";

const NEXT_STEP = /Next: call (\w+) with (\{.*?\}+)[.,]/;
const plan = JSON.parse(readFileSync(0, "utf8"));
const url = new URL(process.argv[2]);
const info = { name: plan.name, version: "1" };

async function connected() {
  if (plan.library === "client") {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client(info, { versionNegotiation: { mode: plan.mode } });
    await client.connect(new StreamableHTTPClientTransport(url));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client(info);
  await client.connect(new StreamableHTTPClientTransport(url));
  return client;
}

// Calls a tool, then what each result names next, and returns all of the results.
async function fetched(client, tool) {
  const results = [];
  let step = [undefined, tool, JSON.stringify(plan.arguments)];
  while (step) {
    const result = await client.callTool({ name: step[1], arguments: JSON.parse(step[2]) });
    results.push(result);
    step = NEXT_STEP.exec(result.content[0].text);
  }
  return results;
}

const client = await connected();
const listed = (await client.listTools()).tools.map((tool) => tool.name);
const results = {};
for (const tool of plan.tools) results[tool] = await fetched(client, tool);
process.stdout.write(JSON.stringify({ listed, results }), () => process.exit(0));
