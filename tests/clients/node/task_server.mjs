// A server with tasks, made of the TypeScript SDK and nothing of ours. It prints its port.
//
// `count` ends after as many polls as it is asked for; `ask` asks its user; `plain` is no task; `broken` fails.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const polls = new Map();
const said = (text, more = {}) => ({ content: [{ type: "text", text }], ...more });

// Any session may ask for any task: so a task outlives the session that began it.
class Store extends InMemoryTaskStore {
  async createTask(params, requestId, request) {
    return super.createTask({ ...params, pollInterval: 10 }, requestId, request);
  }
  async getTask(taskId) {
    const left = polls.get(taskId);
    if (left !== undefined) {
      polls.set(taskId, left - 1);
      if (left === 1) await this.storeTaskResult(taskId, "completed", said("counted"));
    }
    return super.getTask(taskId);
  }
  async storeTaskResult(taskId, status, result) {
    return super.storeTaskResult(taskId, status, result);
  }
  async getTaskResult(taskId) {
    return super.getTaskResult(taskId);
  }
  async updateTaskStatus(taskId, status, words) {
    return super.updateTaskStatus(taskId, status, words);
  }
  async listTasks(cursor) {
    return super.listTasks(cursor);
  }
}

const taskStore = new Store();
const taskMessageQueue = new InMemoryTaskMessageQueue();

function newServer() {
  const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer({ name: "theirs", version: "1" }, { capabilities, taskStore, taskMessageQueue });
  const handlers = (begin) => ({
    async createTask(args, { taskStore: store, taskRequestedTtl }) {
      const task = await store.createTask({ ttl: taskRequestedTtl });
      Promise.resolve(begin(task.taskId, args)).catch(() => {}); // a question dies with its session
      return { task };
    },
    getTask: async (_args, { taskId }) => taskStore.getTask(taskId),
    getTaskResult: async (_args, { taskId }) => taskStore.getTaskResult(taskId),
  });
  const tool = (name, inputSchema, begin) =>
    server.experimental.tasks.registerToolTask(name, { description: name, inputSchema }, handlers(begin));
  tool("count", { polls: z.number() }, (taskId, args) => polls.set(taskId, args.polls));
  tool("broken", {}, (taskId) => taskStore.storeTaskResult(taskId, "failed", said("it broke", { isError: true })));
  tool("ask", {}, async (taskId) => {
    await taskStore.updateTaskStatus(taskId, "input_required");
    const requestedSchema = { type: "object", properties: { amount: { type: "integer" } } };
    const answer = await server.server.elicitInput(
      { mode: "form", message: "How many?", requestedSchema },
      { relatedTask: { taskId } },
    );
    await taskStore.storeTaskResult(taskId, "completed", said(JSON.stringify(answer.content)));
  });
  server.registerTool("plain", { description: "plain", inputSchema: {} }, async () => said("at once"));
  return server;
}

const sessions = new Map();

async function opened() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await newServer().connect(transport);
  return transport;
}

const http = createServer(async (request, response) => {
  const known = request.headers["mcp-session-id"];
  await (sessions.get(known) ?? (await opened())).handleRequest(request, response);
});
http.listen(0, "127.0.0.1", () => console.log(http.address().port));
