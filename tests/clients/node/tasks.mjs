// What the released TypeScript clients with tasks get of first calls, long calls, questions and cancels.
//
//     node tasks.mjs URL LIBRARY
//
// LIBRARY is "sdk" (1.x, 2025-11-25), "ext-tasks-legacy" or "ext-tasks-auto" (over `client` 2.x, in either era).
// Where the URL says that the client searches for tools, it calls them by `call_tool`.
import { MODERN, connectedClient, connectedSdk, taskSession } from "./clients.mjs";

const TASKS = "io.modelcontextprotocol/tasks";
const REFUND = { order_id: "A-1002", amount: "100.00", currency: "EUR", reason: "It wobbles." };
const NEVER = { message: "never", seconds: 3600 };
const url = new URL(process.argv[2]);
const library = process.argv[3];
const info = { name: "an app", version: "1" };
const asked = [];
const searches = url.pathname.endsWith("/discover/1");
const called = (name, args) => (searches ? ["call_tool", { name, arguments: args }] : [name, args]);

function answer(params) {
  asked.push(params.message);
  return { action: "accept", content: { amount: 60 } };
}

async function withSdk() {
  const { client } = await connectedSdk(url, info, { elicitation: { form: {} } }, answer);
  await client.listTools();
  const { tasks } = client.experimental;
  // Goes through a call's messages; `seen` gets the task's id, and may end the loop by returning true.
  async function streamed(tool, given, seen = () => false) {
    const [name, args] = called(tool, given);
    const options = { task: { ttl: 600_000 } };
    for await (const message of tasks.callToolStream({ name, arguments: args }, undefined, options)) {
      if (message.type === "taskCreated" && seen(message.task.taskId)) return undefined;
      if (message.type === "error") throw message.error;
      if (message.type === "result") return message.result;
    }
  }
  return {
    version: "2025-11-25",
    call: streamed,
    async cancelled() {
      let id;
      await streamed("wait_and_echo", NEVER, (taskId) => Boolean((id = taskId)));
      await tasks.cancelTask(id);
      return (await tasks.getTask(id)).status;
    },
  };
}

async function session(mode) {
  const extensions = mode === "auto" ? { extensions: { [TASKS]: {} } } : {};
  const capabilities = { elicitation: { form: {} }, ...extensions };
  const { client, request } = await connectedClient(url, info, mode, capabilities, answer);
  const tasks = await taskSession(client, url, info, mode, capabilities, answer);
  const { tools } = await request("tools/list", {});
  return { client, tasks, declarations: Object.fromEntries(tools.map((tool) => [tool.name, tool])) };
}

async function withExtTasks(mode) {
  const { resultFromTaskOutcome, toolDeclarationFromMcpTool } = await import("@modelcontextprotocol/ext-tasks/client");
  const { client, tasks, declarations } = await session(mode);
  const options = (name) => ({ declaration: toolDeclarationFromMcpTool(declarations[called(name)[0]]) });
  const asTask = (name) => ({ ...options(name), task: { preference: "require" } });
  return {
    version: mode === "auto" ? MODERN : client.getNegotiatedProtocolVersion?.(),
    async call(name, args) {
      const execution = await tasks.callTool(...called(name, args), name === "approve_refund" ? options(name) : asTask(name));
      return resultFromTaskOutcome((await execution.settle()).outcome);
    },
    async cancelled() {
      const execution = await tasks.callTool(...called("wait_and_echo", NEVER), asTask("wait_and_echo"));
      await execution.cancel();
      return (await tasks.task(execution.handle.taskId).snapshot()).status;
    },
    // Another session, as after a crash, takes the task over by its reference.
    async resumed() {
      const args = { message: "taken over", seconds: 2 };
      const execution = await tasks.callTool(...called("wait_and_echo", args), asTask("wait_and_echo"));
      const reference = execution.serializeReference();
      await execution.detach();
      const other = await session(mode);
      const again = await other.tasks.resumeTask(reference);
      return resultFromTaskOutcome((await again.settle()).outcome);
    },
  };
}

const opened = library === "sdk" ? await withSdk() : await withExtTasks(library.replace("ext-tasks-", ""));
const seen = {
  version: opened.version,
  first: await opened.call("wait_and_echo", { message: "hello" }),
  long: await opened.call("wait_and_echo", { message: "patience", seconds: 4 }),
  question: await opened.call("approve_refund", REFUND),
  asked,
  cancelled: await opened.cancelled(),
  resumed: await opened.resumed?.(),
};
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
