// What the released TypeScript clients get from long work by Stepwire's tools.
//
//     node fetch.mjs URL < plan.json
//
// `plan.library` says which: "sdk" (1.x) or "client" (2.x, in the era of `plan.mode`).
import { readFileSync } from "node:fs";
import { connectedClient, connectedSdk } from "./clients.mjs";

const NEXT_STEP = /Next: call (\w+) with (\{.*?\}+)[.,]/;
const plan = JSON.parse(readFileSync(0, "utf8"));
const url = new URL(process.argv[2]);
const info = { name: plan.name, version: "1" };

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

const isOld = plan.library === "sdk";
const { client } = isOld ? await connectedSdk(url, info) : await connectedClient(url, info, plan.mode);
const listed = (await client.listTools()).tools.map((tool) => tool.name);
const results = {};
for (const tool of plan.tools) results[tool] = await fetched(client, tool);
process.stdout.write(JSON.stringify({ listed, results }), () => process.exit(0));
