// What @modelcontextprotocol/sdk 1.32 does with questions that it makes tasks of its own, in its own task store.
//
//     node client_tasks.mjs URL < plan.json
//
// `plan.what` says what becomes of its tasks.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  GetTaskResultSchema,
} from "@modelcontextprotocol/sdk/types.js";

const plan = JSON.parse(readFileSync(0, "utf8"));
const asked = [];
const made = [];

class Store extends InMemoryTaskStore {
  async getTask(taskId, sessionId) {
    return plan.what === "is lost" ? null : super.getTask(taskId, sessionId);
  }
}

const store = new Store();
const requests = { elicitation: { create: {} }, sampling: { createMessage: {} } };
const client = new Client(
  { name: "mcp", version: "1" },
  { capabilities: { elicitation: { form: {} }, sampling: {}, tasks: { cancel: {}, requests } }, taskStore: store },
);

// Makes a task of a question, and lets it go on.
async function answered(request, extra, result) {
  asked.push(request.params.task ? `${request.method} with task` : request.method);
  if (!request.params.task) return result;
  const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl, pollInterval: 300 });
  made.push(task.taskId);
  void work(extra.taskStore, task.taskId, result);
  return { task };
}

// Lets the user think, or the model; then does what the plan says.
async function work(own, taskId, result) {
  await sleep(700);
  if (plan.what === "completes") await own.storeTaskResult(taskId, "completed", result);
  if (plan.what === "fails") await own.updateTaskStatus(taskId, "failed", "The user rejected it.");
  if (plan.what === "is cancelled") await own.updateTaskStatus(taskId, "cancelled");
}

client.setRequestHandler(ElicitRequestSchema, (request, extra) => answered(request, extra, plan.user));
client.setRequestHandler(CreateMessageRequestSchema, (request, extra) => answered(request, extra, plan.model));

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]));
await client.connect(transport);
const heard = transport.onmessage;
transport.onmessage = (message, extra) => {
  if (message.method?.startsWith("tasks/")) asked.push(message.method);
  heard(message, extra);
};

// Waits until the server has asked that about both tasks.
async function heardOf(method) {
  while (asked.filter((one) => one === method).length < 2) await sleep(50);
}

async function called() {
  const params = { name: "optional", arguments: plan.arguments };
  if (!plan.as_task) return client.callTool(params);
  const created = await client.request({ method: "tools/call", params: { ...params, task: {} } }, CreateTaskResultSchema);
  const { taskId } = created.task;
  if (plan.what === "is not wanted") {
    const give_up = () => client.request({ method: "tasks/cancel", params: { taskId } }, GetTaskResultSchema);
    void heardOf("tasks/get").then(give_up);
  }
  return client.request({ method: "tasks/result", params: { taskId } }, CallToolResultSchema);
}

const result = await called();
if (plan.what === "is not wanted") {
  await heardOf("tasks/cancel");
  await sleep(200); // for the last cancellation to be done
}
const tasks = await Promise.all(made.map((taskId) => InMemoryTaskStore.prototype.getTask.call(store, taskId)));
const statuses = tasks.filter(Boolean).map((task) => task.status);
process.stdout.write(JSON.stringify({ asked, statuses, result }), () => process.exit(0));
