// The runtime of a function in Node.js: takes events from Lambda's Runtime API, and runs the handler on each.
// The rules are those of AWS's runtime interface client: which file a handler is in, how it gives its result, how its
// errors look. Calls to AWS go to the simulated account, and the process ends with the stack that has started it.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { createRequire, register, syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { Writable } from "node:stream";
import { pathToFileURL, urlToHttpOptions } from "node:url";
import { format } from "node:util";
import { Worker } from "node:worker_threads";

const { AWS_ENDPOINT_URL, AWS_LAMBDA_LOG_FORMAT, AWS_LAMBDA_RUNTIME_API, LAMBDA_TASK_ROOT, NODE_PATH } = process.env;
const request = http.request;
const API = `http://${AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/`;
const STREAMS = Symbol.for("aws.lambda.runtime.handler.streaming");
const LEVELS = { trace: "TRACE", debug: "DEBUG", log: "INFO", info: "INFO", warn: "WARN", error: "ERROR" };
let requestId; // of the invocation that runs
let whenIdle = () => {}; // what to do when nothing is left to wait for

// A thread of its own: it works while the handler runs in an endless loop, too.
const ENDS = `new (require("node:net").Socket)({ fd: 0 }).on("close", () => process.kill(-process.pid, "SIGKILL")).resume()`;

function ask(method, location, body, headers = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(API + location, { method, headers, agent: false }, (response) => {
      const parts = [];
      response.on("data", (part) => parts.push(part)).on("error", reject);
      response.on("end", () => resolve({ headers: response.headers, status: response.statusCode, text: Buffer.concat(parts).toString() }));
    });
    sent.on("error", reject).end(body);
  });
}

function named(name, error) {
  const made = new Error(String(error?.message && error.name ? `${error.name}: ${error.message}` : error));
  return Object.assign(made, { name: `Runtime.${name}`, stack: error?.stack ?? made.stack });
}

function described(error) {
  if (error?.name && typeof error.stack === "string") {
    return { errorType: String(error.name), errorMessage: String(error.message ?? ""), trace: error.stack.split("\n") };
  }
  return { errorType: typeof error, errorMessage: String(error), trace: [] };
}

function log(level, message) {
  const timestamp = new Date().toISOString();
  const asText = `${timestamp}\t${requestId}\t${level}\t${message}`;
  fs.writeSync(1, `${AWS_LAMBDA_LOG_FORMAT === "JSON" ? JSON.stringify({ timestamp, level, requestId, message }) : asText}\n`);
}

async function fail(error, title, exitCode) {
  const told = JSON.stringify(described(error));
  log("ERROR", `${title}\t${told}`);
  const headers = exitCode === undefined ? {} : { "Lambda-Runtime-Process-Ends": "yes" }; // it takes no further event
  await ask("POST", requestId ? `invocation/${requestId}/error` : "init/error", told, headers);
  if (exitCode !== undefined) process.exit(exitCode);
}

async function load(handler) {
  const [file, ...names] = path.basename(handler).split(".");
  if (handler.includes("..") || !names.length) throw named("MalformedHandlerName", `'${handler}' is not a valid handler name`);
  const stem = path.resolve(LAMBDA_TASK_ROOT, path.dirname(handler), file);
  const require = createRequire(import.meta.url); // the end of each require stack: a file that is there, as in Lambda
  try {
    const here = ["", ".js", ".mjs", ".cjs"].map((suffix) => stem + suffix).find((one) => fs.statSync(one, { throwIfNoEntry: false })?.isFile());
    const found = here ?? require.resolve(path.join(path.dirname(handler), file), { paths: [LAMBDA_TASK_ROOT, path.dirname(stem)] });
    return names.reduce((holder, name) => holder?.[name], await loaded(require, found));
  } catch (error) {
    if (error instanceof SyntaxError) throw named("UserCodeSyntaxError", error);
    if (["MODULE_NOT_FOUND", "ERR_MODULE_NOT_FOUND"].includes(error?.code)) throw named("ImportModuleError", error);
    throw error;
  }
}

async function loaded(require, file) {
  const url = pathToFileURL(file);
  if (file.endsWith(".mjs")) return import(url);
  try {
    return require(file);
  } catch (error) {
    if (!["ERR_REQUIRE_ESM", "ERR_REQUIRE_ASYNC_MODULE"].includes(error?.code)) throw error;
    return import(url); // its package.json says that it is an ES module
  }
}

function contextOf(headers) {
  const env = process.env;
  return {
    awsRequestId: headers["lambda-runtime-aws-request-id"],
    invokedFunctionArn: headers["lambda-runtime-invoked-function-arn"],
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Number(headers["lambda-runtime-deadline-ms"]) - Date.now(),
  };
}

// Returns what the handler gives: by a promise, by its callback or, old style, by its context.
function answered(handler, event, context) {
  return new Promise((resolve, reject) => {
    const done = (error, value) => (error === undefined || error === null ? resolve(value) : reject(error));
    const callback = (error, value) => {
      if ((error !== undefined && error !== null) || !context.callbackWaitsForEmptyEventLoop) done(error, value);
      else whenIdle = () => done(null, value);
    };
    Object.assign(context, { done, succeed: (value) => done(null, value), fail: (error) => done(error ?? "handled") });
    const isAsync = handler.constructor.name === "AsyncFunction";
    const neverSettled = named("NodeJsExit", "The handler's promise was never settled, and nothing is left to wait for.");
    whenIdle = () => done(isAsync ? neverSettled : null, null);
    const result = handler[STREAMS] ? streamed(handler, event, context) : handler(event, context, callback);
    if (typeof result?.then === "function") result.then((value) => done(null, value), context.fail);
  });
}

// Collects what a handler writes to its response stream: nothing here takes the parts of a response one by one.
async function streamed(handler, event, context) {
  const parts = [];
  const stream = new Writable({ write: (part, encoding, next) => next(parts.push(Buffer.from(part, encoding)) && null) });
  stream.setContentType = (type) => ((stream.metadata ??= {}).headers = { ...stream.metadata.headers, "content-type": type });
  await handler(event, stream, context);
  const body = Buffer.concat(parts).toString();
  return stream.metadata ? { statusCode: 200, ...stream.metadata, body } : body;
}

// Lets calls to AWS reach the simulated account whatever the client's settings: SDKs of version 2, URLs of queues.
function callTheAccountFrom(module, local) {
  const original = module.request;
  module.request = (...given) => {
    const [first, second] = given;
    const isUrl = typeof first === "string" || first instanceof URL;
    const options = isUrl ? { ...urlToHttpOptions(new URL(first)), ...(typeof second === "object" ? second : {}) } : first;
    const host = String(options.hostname ?? options.host ?? "").replace(/:\d+$/, "");
    if (!/(^|\.)amazonaws\.com(\.cn)?$/.test(host) && !host.endsWith(`-${local.hostname}`)) return original(...given);
    const kept = Object.entries(options.headers ?? {}).filter(([name]) => name.toLowerCase() !== "host");
    const headers = { ...Object.fromEntries(kept), host: local.host, "x-aws-host": host };
    const there = { ...options, protocol: "http:", hostname: local.hostname, host: local.hostname, port: local.port, agent: undefined, headers };
    return request(there, given.find((one) => typeof one === "function"));
  };
  module.get = (...given) => module.request(...given).end();
}

function prepare() {
  new Worker(ENDS, { eval: true, execArgv: [] }).unref();
  for (const [method, level] of Object.entries(LEVELS)) console[method] = (...given) => log(level, format(...given));
  if (AWS_ENDPOINT_URL) for (const module of [http, https]) callTheAccountFrom(module, new URL(AWS_ENDPOINT_URL));
  syncBuiltinESMExports();
  if (NODE_PATH) register(`data:text/javascript,${encodeURIComponent(ALSO_IN_LAYERS)}`);
  const from = (stream, metadata) => Object.assign(stream, { metadata });
  const streamifyResponse = (handler) => Object.assign(handler, { [STREAMS]: "response" });
  globalThis.awslambda = { streamifyResponse, HttpResponseStream: { from } };
  process.on("beforeExit", () => whenIdle());
  process.on("uncaughtException", (error) => fail(error, "Uncaught Exception", 129));
  process.on("unhandledRejection", (why) => fail(named("UnhandledPromiseRejection", why), "Unhandled Promise Rejection", 128));
}

// Node looks for what CommonJS requires on NODE_PATH, but not for what ES modules import.
const ALSO_IN_LAYERS = `
  import path from "node:path";
  import { pathToFileURL } from "node:url";
  const parents = process.env.NODE_PATH.split(path.delimiter).filter(Boolean).map((one) => pathToFileURL(path.join(one, "..", "index.js")).href);
  export async function resolve(specifier, context, next) {
    try {
      return await next(specifier, context);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || /^[./]|^[a-z]+:/.test(specifier)) throw error;
      for (const parentURL of parents) {
        try { return await next(specifier, { ...context, parentURL }); } catch {}
      }
      throw error;
    }
  }`;

async function serve(handler) {
  for (;;) {
    const { headers, status, text } = await ask("GET", "invocation/next");
    if (status !== 200) process.exit(0); // the stack stops
    requestId = headers["lambda-runtime-aws-request-id"];
    process.env._X_AMZN_TRACE_ID = headers["lambda-runtime-trace-id"];
    try {
      const value = await answered(handler, JSON.parse(text), contextOf(headers));
      whenIdle = () => {};
      await ask("POST", `invocation/${requestId}/response`, JSON.stringify(value === undefined ? null : value) ?? "null");
    } catch (error) {
      whenIdle = () => {};
      await fail(error, "Invoke Error");
    }
  }
}

async function main() {
  prepare();
  const name = process.env._HANDLER;
  const handler = await load(name).catch((error) => fail(error, "Init Error", 1));
  if (typeof handler !== "function") await fail(named("HandlerNotFound", `${name} is undefined or not exported`), "Init Error", 1);
  await serve(handler).catch(() => process.exit(1)); // the Runtime API is gone
}

main();
