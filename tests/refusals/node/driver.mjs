// What the released TypeScript clients see of refusals, all in one session.
//
//     node driver.mjs URL < plan.json
//
// `plan.library` says which: "sdk" (1.x), "client" (2.x, in the era of `plan.mode`), or "ext-tasks" over "client".
import { readFileSync } from "node:fs";
import { connectedClient, connectedSdk, taskSession } from "./clients.mjs";

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

const opened = await connected();
const seen = {};
for (const [name, requests] of Object.entries(plan.ways)) {
  seen[name] = [await walked(opened, requests), await asked(opened, ...plan.then)];
}
for (const [name, talk] of Object.entries(plan.talks)) {
  seen[name] = [await talked(opened, talk), await asked(opened, ...plan.then)];
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
