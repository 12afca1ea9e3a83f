// Run an agent of Mastra with the tools of @mastra/mcp on the prompt `go`.
//
//     node mastra_agent.mjs ENDPOINT MODEL
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { MCPClient } from "@mastra/mcp";

const MOST_TURNS = 60;
const [endpoint, model] = process.argv.slice(2);
const scripted = createOpenAICompatible({ name: "scripted", baseURL: `${model}/v1`, apiKey: "any" });
const client = new MCPClient({ servers: { stepwire: { url: new URL(endpoint) } } });
const tools = await client.listTools();
const agent = new Agent({ id: "host", name: "host", instructions: "", model: scripted("scripted"), tools });
const ended = await agent.generate("go", { maxSteps: MOST_TURNS });
console.log(ended.text);
await client.disconnect();
