// What the released TypeScript clients see when they sign in with nothing but the URL.
//
//     node sign_in.mjs URL < plan.json
//
// The plan is that of tests/sign_in/mcp_2.py, and `library`: "sdk" (1.x) or "client" (2.x, in the era of `mode`).
import { readFileSync } from "node:fs";

const plan = JSON.parse(readFileSync(0, "utf8"));
const url = new URL(process.argv[2]);
console.warn = () => {};

class Provider {
  constructor() {
    this.redirectUrl = plan.callback;
    this.clientMetadata = { redirect_uris: [plan.callback], token_endpoint_auth_method: "none" };
    if (plan.way === "documents") this.clientMetadataUrl = plan.document;
    this.client = plan.way === "id" ? { client_id: plan.client_id } : undefined;
    this.stored = plan.tokens ?? undefined;
  }
  state() {
    return "the-state";
  }
  clientInformation() {
    return this.client;
  }
  saveClientInformation(client) {
    this.client = client;
  }
  tokens() {
    return this.stored;
  }
  saveTokens(tokens) {
    this.stored = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  async redirectToAuthorization(address) {
    const answered = await fetch(address, { redirect: "manual" });
    const location = answered.headers.get("location");
    if (!location) throw new Error(await answered.text());
    this.came = new URL(location).searchParams;
  }
}

async function library() {
  if (plan.library === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const transport = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return { client: () => new Client({ name: "mcp", version: "1" }), ...transport };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const options = { versionNegotiation: { mode: plan.mode ?? "auto" } };
  return { client: () => new Client({ name: "mcp", version: "1" }, options), StreamableHTTPClientTransport };
}

// Does something; if the library asks for the user, finishes the sign-in and does it again, as hosts do.
async function signedIn(provider, transport, action) {
  try {
    return await action();
  } catch (error) {
    const came = provider.came;
    if (!came) throw error;
    provider.came = undefined;
    if (came.get("error")) throw new Error(came.get("error"));
    await transport().finishAuth(...(plan.library === "sdk" ? [came.get("code")] : [came]));
    return action();
  }
}

const { client: newClient, StreamableHTTPClientTransport } = await library();
const provider = new Provider();
const seen = { results: [] };
let transport;
let client;
try {
  const connect = async () => {
    transport = new StreamableHTTPClientTransport(url, { authProvider: provider });
    client = newClient();
    await client.connect(transport);
  };
  await signedIn(provider, () => transport, connect);
  const call = (name) => signedIn(provider, () => transport, () => client.callTool({ name, arguments: {} }));
  seen.tools = (await signedIn(provider, () => transport, () => client.listTools())).tools.map((tool) => tool.name).sort();
  for (const name of plan.calls) seen.results.push((await call(name)).structuredContent ?? null);
} catch (error) {
  seen.error = `${error.name}: ${error.message}`;
}
seen.tokens = provider.stored ?? null;
seen.client_id = provider.client?.client_id ?? null;
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
