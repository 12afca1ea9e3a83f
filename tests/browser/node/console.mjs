// What a person sees and does in the console of the local stack.
//
//     node console.mjs < plan.json
//
// The plan: `chromium`, `page` (the console's URL), `era`, and `steps`: a list of [name, ...arguments] of STEPS below.
// It prints what each step saw, the page's errors, and each request that went elsewhere.
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { withPage } from "./page.mjs";

const plan = JSON.parse(readFileSync(0, "utf8"));
const PATIENCE = 120_000; // milliseconds: the machine may be busy

const STEPS = {
  // Starts a tool with the form: labels and what to write, or ["label", {option}] to choose.
  start: async (page, tool, fields) => {
    await page.getByRole("navigation").getByRole("link", { name: tool }).first().click();
    for (const [label, value] of fields) {
      const field = page.getByLabel(label);
      await (value.option ? field.selectOption({ label: value.option }) : field.fill(value));
    }
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".head .id").waitFor();
    return page.locator(".head .id").innerText();
  },
  // Answers or cancels, in the card of the server or, where it has none, in the console's own panel.
  press: async (page, inCard, inPanel) => {
    const frame = page.frameLocator(".card-frame").getByRole("button", { name: inCard, exact: true });
    const own = page.locator(".panel").getByRole("button", { name: inPanel, exact: true });
    await frame.or(own).first().waitFor().catch(() => {});
    await page.locator(".card-frame, .panel").first().waitFor();
    await ((await page.locator(".card-frame").count()) ? frame : own).first().click();
  },
  // Answers a question to others as somebody; returns what was shown of it, and what the page says afterwards.
  decide: async (page, person, button) => {
    await page.getByRole("link", { name: /^Questions to others/ }).click();
    await page.getByLabel("You are").selectOption(person);
    const card = page.locator(".approval").first();
    await card.waitFor();
    const shown = await card.innerText();
    await card.getByRole("button", { name: button, exact: true }).click();
    const said = page.locator("main [role=status]").filter({ hasText: /\S/ });
    await said.waitFor();
    return { shown, said: await said.innerText() };
  },
  // Waits for what the list says of the newest task.
  status: async (page, words) => {
    const badge = page.locator("#tasks li").first().locator(".badge");
    await badge.filter({ hasText: words }).waitFor();
    await page.locator(".head .badge").filter({ hasText: words }).waitFor();
  },
  // What the graph shows of a state, at once or as soon as it is so.
  state: async (page, name, status) => {
    const drawn = page.locator(`g.state[data-name="${name}"]`);
    if (status) await page.locator(`g.state[data-name="${name}"][data-status="${status}"]`).waitFor();
    return { label: await drawn.getAttribute("aria-label"), count: await drawn.locator(".count").textContent() };
  },
  // Chooses a state by the keyboard; returns its details.
  choose: async (page, name) => {
    await page.locator(`g.state[data-name="${name}"]`).focus();
    await page.keyboard.press("Enter");
    await page.locator(".state-detail h2").filter({ hasText: name }).waitFor();
    return page.locator(".state-detail").innerText();
  },
  graph: async (page) => page.locator("svg.graph").evaluate((svg) => ({
    states: svg.querySelectorAll("g.state").length,
    edges: svg.querySelectorAll(".edge").length,
    taken: svg.querySelectorAll(".edge.taken").length,
    errors: svg.querySelectorAll(".edge.catch").length,
    frames: svg.querySelectorAll(".frame").length,
  })),
  // The messages of the task: era, method and headline of each, newest first; the first call opened.
  messages: async (page) => {
    await page.getByRole("tab", { name: "Messages" }).click();
    await page.locator(".wire details").first().waitFor();
    await page.locator('.wire details[data-method="tools/call"] summary').last().click();
    await page.locator(".wire details[open] .exchange pre").first().waitFor();
    const opened = await page.locator(".wire details[open] .exchange").innerText();
    const rows = await page.locator(".wire details").evaluateAll((all) => all.map((one) => [one.dataset.era, one.dataset.method]));
    return { rows, opened };
  },
  all: async (page) => {
    await page.getByRole("link", { name: "All messages" }).click();
    await page.locator(".wire details").first().waitFor();
    return page.locator(".wire details").evaluateAll((all) => all.map((one) => one.dataset.method));
  },
  size: async (page, width, height, colorScheme) => {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme });
    return page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  },
  // What axe finds in the page; the card is a page of its own, with tests of its own.
  axe: async (page) => {
    await page.evaluate(axe.source);
    return page.evaluate(async () => {
      const { violations } = await window.axe.run({ exclude: ["iframe"] }, { iframes: false });
      return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 150)}`));
    });
  },
  picture: (page, path, selector) => (selector ? page.locator(selector).screenshot({ path }) : page.screenshot({ path })).then(() => null),
  // Shows the whole graph, without a scroll bar.
  unfold: (page) => page.locator(".canvas").evaluate((canvas) => { canvas.style.maxHeight = "none"; }),
  // Starts a tool while an older list of the tasks is under way: it arrives after the task was made, and does not name it.
  overtaken: async (page, tool, fields) => {
    let release, held;
    const isHeld = new Promise((resolve) => { held = resolve; });
    const mayGo = new Promise((resolve) => { release = resolve; });
    await page.route("**/console/api/tasks", async (route) => {
      const answer = await route.fetch();
      held();
      await mayGo;
      await route.fulfill({ response: answer }).catch(() => {});
    }, { times: 1 });
    await isHeld;
    const id = await STEPS.start(page, tool, fields);
    release();
    await page.locator(".card-frame, .panel").first().waitFor();
    await page.locator("#tasks a").filter({ has: page.locator("time") }).first().waitFor();
    return { id, cards: await page.locator(".card-frame").count(), title: await page.locator(".head h1").innerText() };
  },
  // Chooses another protocol, and fills in a tool's form before the tools of that protocol are there; then starts the tool.
  protocol: async (page, era, tool, [label, value]) => {
    let release, held;
    const isHeld = new Promise((resolve) => { held = resolve; });
    const mayGo = new Promise((resolve) => { release = resolve; });
    await page.route("**/mcp", async (route) => {
      if (route.request().postDataJSON().method !== "tools/list") return route.fallback();
      held();
      await mayGo;
      await route.fallback();
    });
    await page.locator("#tools").evaluate((list) => { list.firstElementChild.dataset.old = "yes"; });
    await page.getByLabel("Protocol").selectOption(era);
    await isHeld;
    await page.getByRole("navigation").getByRole("link", { name: tool }).first().click();
    const field = page.getByLabel(label);
    await field.fill(value);
    release();
    await page.locator("#tools [data-old]").waitFor({ state: "detached" });
    await page.unroute("**/mcp");
    const written = await field.inputValue();
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".head .id").waitFor();
    return written;
  },
  // Starts a tool again and again; how often its task opened without the card.
  starts: async (page, times, tool, fields) => {
    let without = 0;
    for (let done = 0; done < times; done += 1) {
      await STEPS.start(page, tool, fields);
      await page.locator(".card-frame, .panel").first().waitFor();
      without += await page.locator(".panel").count();
    }
    return without;
  },
  // Starts with empty fields; what stands below the first field that is wrong.
  empty: async (page, tool) => {
    await page.getByRole("navigation").getByRole("link", { name: tool }).first().click();
    await page.getByRole("button", { name: "Start" }).click();
    return page.locator(".field:has([aria-invalid=true]) small").allInnerTexts();
  },
  // Chooses a tool by the keyboard, and goes on by Tab; the names of what has the focus then.
  keyboard: async (page, tool) => {
    await page.getByRole("navigation").getByRole("link", { name: tool }).first().focus();
    await page.keyboard.press("Enter");
    await page.locator("main h1").filter({ hasText: tool }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement.dataset.name ?? document.activeElement.tagName);
    const heading = await focused();
    await page.keyboard.press("Tab");
    return [heading, await focused()];
  },
  // Whether an element is wholly within the window; "bottom" of the sidebar is where it ends.
  within: (page, selector) => page.locator(selector).first().evaluate((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return { top, bottom, height: innerHeight };
  }),
  text: (page, selector) => page.locator(selector).first().innerText(),
  visible: (page, selector) => page.locator(selector).filter({ visible: true }).count(),
  top: (page) => page.evaluate(() => { document.getElementById("main").scrollTop = 0; }),
  pause: (page, milliseconds) => page.waitForTimeout(milliseconds),
  open: async (page, hash) => { await page.goto(`${plan.page}${hash}`); await page.locator("#tools li").first().waitFor(); },
};

const seen = await withPage(plan.chromium, async (page) => {
  const errors = [], outside = [], results = [];
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => request.url().startsWith(plan.page) || outside.push(request.url()));
  await page.setViewportSize(plan.size ?? { width: 1360, height: 900 });
  await page.emulateMedia({ colorScheme: plan.theme ?? "light" });
  await page.goto(plan.page);
  await page.locator("#tools li").first().waitFor();
  if (plan.era) await page.getByLabel("Protocol").selectOption(plan.era);
  for (const [name, ...given] of plan.steps) {
    try {
      results.push(await STEPS[name](page, ...given));
    } catch (error) {
      throw new Error(`${name} ${JSON.stringify(given)}: ${error.message}\n${errors.join("\n")}\n${await page.locator("body").innerText()}`);
    }
  }
  return { results, errors, outside };
});
process.stdout.write(JSON.stringify(seen));
