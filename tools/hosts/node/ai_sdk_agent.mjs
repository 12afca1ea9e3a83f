// Run an agent of the AI SDK with the tools of @ai-sdk/mcp on the prompt `go`.
//
//     node ai_sdk_agent.mjs ENDPOINT MODEL
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs } from "ai";

const MOST_TURNS = 60;
const [endpoint, model] = process.argv.slice(2);
const scripted = createOpenAICompatible({ name: "scripted", baseURL: `${model}/v1`, apiKey: "any" });
const client = await createMCPClient({ transport: { type: "http", url: endpoint } });
const tools = await client.tools();
const ended = await generateText({ model: scripted("scripted"), tools, prompt: "go", stopWhen: stepCountIs(MOST_TURNS) });
console.log(ended.text);
await client.close();
