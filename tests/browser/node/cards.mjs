// A host of MCP Apps in a real Chromium, told what to do by lines of JSON.
//
//     node cards.mjs CHROMIUM < lines
//
// Each line is {"do": <a name of DEEDS>, ...its arguments}; each is answered by one line, {"value"} or {"error"}. The
// bridge between card and server is ext-apps' own AppBridge. The card is framed as the specification says for web
// hosts: a sandbox proxy of another origin, whose header holds the default policy, and the card in a frame inside it;
// or, with `frame: "opaque"`, in one frame that may run scripts and no more. Time stands still until a line moves it.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { chromium } from "playwright-core";

import { serverOf } from "./servers.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const MOST_STEPS = 30; // in which time passes
const HANG_GUARD = 120_000; // milliseconds: the machine may be busy
// What the specification makes the default; frames and fonts fall under its default-src.
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'self'; object-src 'none'; base-uri 'self'";
const LOOKS = "margin: 0; background: Canvas; color-scheme: light dark";
const FRAME = "display: block; border: 0; width: 100%; height: 100%";
const HOST_PAGE = `<!doctype html><title>Host</title><body style="${LOOKS}"><script>
  addEventListener("message", ({ data, source }) => source === frames[0] && fromView(data));
</script>`;
const PROXY_PAGE = `<!doctype html><title>Proxy</title><body style="margin: 0; height: 100vh; overflow: hidden"><script>
  const view = document.createElement("iframe");
  view.sandbox = "allow-scripts allow-same-origin allow-forms";
  view.style = "${FRAME}";
  document.body.append(view);
  addEventListener("message", ({ data, source }) => {
    if (source === view.contentWindow) return parent.postMessage(data, "*");
    if (data.method !== "ui/notifications/sandbox-resource-ready") return view.contentWindow.postMessage(data, "*");
    view.contentDocument.open();
    view.contentDocument.write(data.params.html);
    view.contentDocument.close();
  });
  parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*");
</script>`;

const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"] });
const [hostUrl, proxyUrl] = await Promise.all([served(HOST_PAGE, {}), served(PROXY_PAGE, { "content-security-policy": POLICY })]);
let now; // the host that is shown

// Serves one page on a port of its own, which makes it an origin of its own.
async function served(page, headers) {
  const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html", ...headers }).end(page));
  await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
  server.unref();
  return `http://127.0.0.1:${server.address().port}/`;
}

class Host {
  constructor(wish) {
    Object.assign(this, { wish, heard: { calls: [], told: [], messages: [], links: [], heights: [] }, requests: [], problems: [], context: wish.context ?? {}, unanswered: new Set(), messages: 0, barriers: 0 });
    this.server = serverOf(wish, this.heard.calls);
  }

  async begin() {
    const { width = 640, height = 720, dark, reduced, zone = "UTC", language = "en-US", scale = 1 } = this.wish;
    const looks = { colorScheme: dark ? "dark" : "light", reducedMotion: reduced ? "reduce" : "no-preference", timezoneId: zone, locale: language, deviceScaleFactor: scale };
    this.page = await (await browser.newContext({ viewport: { width, height }, ...looks })).newPage();
    this.page.setDefaultTimeout(HANG_GUARD);
    this.page.on("request", (request) => this.requests.push(request.url()));
    this.page.on("pageerror", (error) => this.problems.push(error.message));
    this.page.on("console", (line) => line.type() === "error" && this.problems.push(line.text()));
    await this.page.clock.install({ time: new Date(this.wish.time ?? 0) });
    await this.page.clock.pauseAt(new Date(this.wish.time ?? 0).valueOf() + 1000);
    await this.page.exposeFunction("fromView", (message) => this.receive(message));
    await this.page.goto(hostUrl);
    await this.show();
  }

  // Frames the card, and sends what a host sends at its begin: also at a reload.
  async show() {
    const { frame = "proxy", input = {}, result, capabilities = { serverTools: {}, openLinks: {} } } = this.wish;
    const { html, shown } = await this.server.start();
    const bridge = new AppBridge(null, { name: "test-host", version: "1.0.0" }, capabilities, { hostContext: this.context });
    const isReady = Promise.withResolvers(), isInitialized = Promise.withResolvers();
    bridge.onsandboxready = () => isReady.resolve();
    bridge.oninitialized = () => isInitialized.resolve();
    this.hear(bridge);
    this.transport = { start: async () => {}, close: async () => {}, send: (message) => this.send(message) };
    await bridge.connect(this.transport);
    const source = frame === "opaque" ? { sandbox: "allow-scripts", srcdoc: html } : { src: proxyUrl };
    await this.page.evaluate(([attributes, style]) => {
      document.querySelector("iframe")?.remove();
      const made = Object.assign(document.createElement("iframe"), { style, title: "Card" });
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
      document.body.append(made);
    }, [source, `${FRAME}; height: 100vh`]);
    if (frame === "proxy") await isReady.promise.then(() => bridge.sendSandboxResourceReady({ html }));
    await isInitialized.promise;
    this.bridge = bridge;
    await bridge.sendToolInput({ arguments: input });
    if (shown ?? result) await bridge.sendToolResult(shown ?? result);
    this.view = this.page.frames().at(-1);
  }

  send(message) {
    if (message.id !== this.barrier?.id) this.messages += 1;
    if (message.id !== undefined && !message.method) this.unanswered.delete(message.id);
    return this.page.evaluate((sent) => frames[0]?.postMessage(sent, "*"), message);
  }

  receive(message) {
    if (this.barrier && message.id === this.barrier.id) return this.barrier.resolve();
    this.messages += 1;
    if (message.id !== undefined && message.method) this.unanswered.add(message.id);
    this.transport?.onmessage?.(message);
  }

  // Waits until the card has nothing more to say and to hear: what was sent before a ping is read before its answer, so
  // a ping is needed during which nothing was sent.
  async settled() {
    let before;
    do {
      before = this.messages;
      this.barrier = { id: `barrier-${++this.barriers}`, ...Promise.withResolvers() };
      await this.send({ jsonrpc: "2.0", id: this.barrier.id, method: "ping", params: {} });
      await this.barrier.promise;
    } while (this.unanswered.size || this.messages !== before);
  }

  // Moves the card's clock; a timer that is due several times within a step runs once.
  async pass(seconds) {
    const step = Math.max(0.5, seconds / MOST_STEPS);
    for (let left = seconds; left > 0; left -= step) {
      await this.page.clock.runFor(Math.min(left, step) * 1000);
      await this.settled();
    }
  }

  grow(height) {
    return this.page.locator("iframe").evaluate((frame, to) => { frame.style.height = `${to}px`; }, height);
  }

  hear(bridge) {
    const { heard, wish } = this;
    bridge.oncalltool = (call) => this.server.call(call);
    bridge.onupdatemodelcontext = async (params) => { refuseIf(wish.deaf); heard.told.push(params); return {}; };
    bridge.onmessage = async (params) => { refuseIf(wish.deaf); heard.messages.push(params); return {}; };
    bridge.onopenlink = async ({ url }) => { heard.links.push(url); return wish.opensNothing ? { isError: true } : {}; };
    bridge.onsizechange = async ({ height }) => { heard.heights.push(height); if (wish.grows) await this.grow(height); };
  }
}

function refuseIf(isSo) {
  if (isSo) throw new Error("not supported");
}

// Lets the page's timers run, a moment at a time, until a promise is settled: axe-core waits between its rules.
async function whileTimePasses(promise) {
  let isSettled = false;
  const settled = () => { isSettled = true; };
  promise.then(settled, settled);
  while (!isSettled) await now.page.clock.runFor(1);
  return promise;
}

const named = (role, name) => now.view.getByRole(role, { name, exact: true });
const field = ({ label }) => now.view.getByLabel(label).first();

const DEEDS = {
  open: async ({ wish }) => { await now?.page.context().close(); now = new Host(wish); await now.begin(); },
  reload: async () => { await now.bridge.teardownResource({}); await now.show(); },
  teardown: async () => { await now.bridge.teardownResource({}); },
  result: ({ result }) => now.bridge.sendToolResult(result),
  cancelled: ({ reason }) => now.bridge.sendToolCancelled({ reason }),
  context: ({ changed }) => now.bridge.sendHostContextChange(changed),
  replies: ({ replies }) => now.server.script(replies),
  pass: ({ seconds }) => now.pass(seconds),
  press: ({ name, role = "button" }) => named(role, name).click(),
  key: ({ key }) => now.page.keyboard.press(key),
  type: ({ text }) => now.page.keyboard.type(text),
  fill: ({ label, text }) => field({ label }).fill(text),
  pick: ({ label, option }) => field({ label }).selectOption({ label: option }),
  check: ({ label }) => field({ label }).check(),
  see: async ({ text }) => { await now.view.locator("main").getByText(text).filter({ visible: true }).first().waitFor(); },
  gone: async ({ text }) => { await now.view.locator("main > :not(.unseen)").getByText(text).filter({ visible: true }).first().waitFor({ state: "hidden" }); },
  heard: async () => { await now.settled(); return now.heard; },
  text: () => now.view.locator("main").innerText(),
  look: ({ script }) => now.view.evaluate(script),
  scroll: async ({ isAway }) => {
    await now.page.evaluate((below) => { document.body.style.paddingTop = `${below}px`; }, isAway ? 5000 : 0);
    // The card's own observer is older, so it hears of this first.
    await now.view.evaluate((isSeen) => new Promise((seen) => {
      new IntersectionObserver(([{ isIntersecting }]) => { if (isIntersecting === isSeen) seen(); }).observe(document.body);
    }), !isAway);
  },
  requests: () => ({ urls: now.requests, own: [hostUrl, proxyUrl], problems: now.problems }),
  axe: async () => {
    await now.view.evaluate(AXE);
    const seen = now.view.evaluate((tags) => globalThis.axe.run(document, { runOnly: tags }), TAGS);
    const { violations } = await whileTimePasses(seen);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
  },
  picture: async ({ path }) => {
    await now.settled();
    if (now.wish.grows) await now.grow(await now.view.evaluate("Math.ceil(document.body.getBoundingClientRect().height)"));
    await now.page.screenshot({ path, fullPage: true, animations: "disabled" });
  },
};

async function hanging(deed) {
  await new Promise((ends) => setTimeout(ends, 2 * HANG_GUARD).unref());
  throw new Error(`${deed} hangs; the page's problems: ${now?.problems}`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: deed, ...how } = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await Promise.race([DEEDS[deed](how), hanging(deed)])) ?? null };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
