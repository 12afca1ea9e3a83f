// What the released TypeScript clients see of a plan, all in one session.
//
//     node driver.mjs URL < plan.json
//
// `plan.library` says which: "sdk" (1.x), "client" (2.x, in the era of `plan.mode`), or "ext-tasks" over "client".
import { readFileSync } from "node:fs";
import { connectedClient, connectedSdk, taskSession } from "./clients.mjs";

const NEXT_STEP = /Next: call (\w+) with (\{.*?\}+)[.,]/;
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

async function connected() {
  const asking = plan.can_ask ? answer : undefined;
  const opened =
    plan.library === "sdk"
      ? await connectedSdk(url, info, capabilities, asking)
      : await connectedClient(url, info, plan.mode, capabilities, asking);
  if (plan.library !== "ext-tasks") {
    return { ...opened, call: (name, args) => opened.client.callTool({ name, arguments: args }) };
  }
  const { resultFromTaskOutcome } = await import("@modelcontextprotocol/ext-tasks/client");
  const session = await taskSession(opened.client, url, info, plan.mode, capabilities, answer);
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

// Calls a tool, then what each result names next, and returns all of the results.
async function fetched(opened, tool) {
  const results = [];
  let step = [undefined, tool, JSON.stringify(plan.arguments)];
  while (step) {
    const result = await opened.call(step[1], JSON.parse(step[2]));
    results.push(result);
    step = NEXT_STEP.exec(result.content[0].text);
  }
  return results;
}

const opened = await connected();
const seen = { ways: {}, talks: {}, results: {} };
for (const [name, requests] of Object.entries(plan.ways)) {
  seen.ways[name] = [await walked(opened, requests), await asked(opened, ...plan.then)];
}
for (const [name, talk] of Object.entries(plan.talks)) {
  seen.talks[name] = [await talked(opened, talk), await asked(opened, ...plan.then)];
}
if (plan.tools.length) seen.listed = (await opened.client.listTools()).tools.map((tool) => tool.name);
for (const tool of plan.tools) seen.results[tool] = await fetched(opened, tool);
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
