// What stands behind a host: a script of results, or the server at a URL.
import { readFileSync } from "node:fs";

import { getToolUiResourceUri, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// Returns the server that a wish names. Each call of the card is noted in `calls`.
export function serverOf(wish, calls) {
  return wish.url ? new Live(wish, calls) : new Scripted(wish, calls);
}

// Answers each tool from a list of results, whose last one is repeated.
class Scripted {
  constructor({ html, replies = {} }, calls) {
    Object.assign(this, { html: readFileSync(html, "utf8"), replies: structuredClone(replies), calls });
  }

  start() {
    return { html: this.html };
  }

  script(replies) {
    Object.assign(this.replies, replies);
  }

  async call({ name, arguments: given }) {
    this.calls.push({ name, arguments: given });
    const some = this.replies[name];
    const reply = some?.length > 1 ? some.shift() : some?.[0];
    if (!reply || reply.denied) throw new Error(reply?.denied ?? `no reply to ${name}`);
    return reply;
  }
}

// A server that a released client speaks with, in the era of `mode`. The tool is called once: reloads show its result again.
class Live {
  constructor({ url, mode, tool, input, changed = {}, denies }, calls) {
    Object.assign(this, { url, mode, tool, input, changed, denies, calls });
  }

  async start() {
    this.shown ??= await this.called();
    const { contents } = await this.client.readResource({ uri: this.uri });
    if (contents[0].mimeType !== RESOURCE_MIME_TYPE) throw new Error(`not a card: ${contents[0].mimeType}`);
    return { html: contents[0].text, shown: this.shown };
  }

  async called() {
    const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } };
    this.client = new Client({ name: "test-host", version: "1.0.0" }, { capabilities: { extensions }, versionNegotiation: { mode: this.mode } });
    await this.client.connect(new StreamableHTTPClientTransport(this.url));
    const { tools } = await this.client.listTools();
    this.uri = getToolUiResourceUri(tools.find(({ name }) => name === this.tool));
    const result = await this.client.callTool({ name: this.tool, arguments: this.input });
    return { ...result, ...this.changed };
  }

  async call({ name, arguments: given }) {
    this.calls.push({ name, arguments: given });
    if (this.denies) throw new Error(this.denies);
    return this.client.callTool({ name, arguments: given });
  }
}
