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
let opened = 0; // how often another view was opened by its address

// Holds the first request to an address for which `isIt` is true, from its answer on: `isHeld` tells when, `release` lets it go on.
async function held(page, address, isIt = () => true) {
  const isHeld = Promise.withResolvers(), mayGo = Promise.withResolvers();
  let isTaken = false;
  const hold = async (route) => {
    if (isTaken || !isIt(route.request())) return route.fallback();
    isTaken = true;
    const answer = await route.fetch();
    isHeld.resolve();
    await mayGo.promise;
    await route.fulfill({ response: answer }).catch(() => {}); // the page may not wait for it any more
  };
  await page.route(address, hold);
  return { isHeld: isHeld.promise, release: async () => { mayGo.resolve(); await page.unroute(address, hold); } };
}

// Changes the JSON of the console's own answers, until the function that it returns is called.
async function altered(page, address, change) {
  const alter = async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: change(await response.json()) }).catch(() => {}); // it was called meanwhile
  };
  await page.route(address, alter);
  return () => page.unroute(address, alter);
}

const isCall = (method) => (request) => request.postDataJSON()?.method === method;
const named = (page, tool) => page.getByRole("navigation", { includeHidden: true }).getByRole("link", { name: tool, includeHidden: true }).first();
const shownTask = (page) => new URL(page.url()).hash;
// The task that is shown, in the list: this is read each second, so that its first may still be another one.
const listedTask = (page) => page.locator(`#tasks a[href="${shownTask(page)}"]`);

// Presses a link of the lists, which are a menu on a small screen.
async function press(page, link) {
  const menu = page.getByRole("button", { name: "Menu" });
  if (await menu.isVisible() && await menu.getAttribute("aria-expanded") === "false") await menu.click();
  await link.click();
}

// Chooses a tool, and fills in its form: labels and what to write, or ["label", {option}] to choose.
async function fill(page, tool, fields) {
  await press(page, named(page, tool));
  await page.locator("main h1").filter({ hasText: tool }).waitFor();
  for (const [label, value] of fields) {
    const field = page.locator("main").getByLabel(label);
    await (value.option ? field.selectOption({ label: value.option }) : field.fill(value));
  }
}

const STEPS = {
  // Starts a tool with the form.
  start: async (page, tool, fields) => {
    await fill(page, tool, fields);
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".head .id").waitFor();
    return page.locator(".head .id").innerText();
  },
  // Starts a tool of the start page with its example; returns what was filled in.
  example: async (page, tool) => {
    await page.locator(".tries").getByRole("link", { name: tool }).click();
    await page.getByRole("button", { name: "Fill in an example" }).click();
    const filled = await page.locator("form.call").evaluate((form) => Object.fromEntries(
      [...form.querySelectorAll("input[type=text]")].filter((one) => one.value).map((one) => [one.dataset.name, one.value])
        .concat([...form.querySelectorAll("textarea[data-name]")].filter((one) => one.value).map((one) => [one.dataset.name, one.value]))));
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".head .id").waitFor();
    return filled;
  },
  times: (page) => page.locator("nav time").allInnerTexts(),
  press_menu: (page) => page.getByRole("button", { name: "Menu" }).click(),
  // What a card that asks shows, and the colours of its button and of the console's own.
  card: async (page) => {
    const frame = page.frameLocator("main .card-frame"), colours = (one) => { const { color, backgroundColor } = getComputedStyle(one); return [color, backgroundColor]; };
    const send = frame.getByRole("button", { name: "Send answer" });
    await send.waitFor();
    const found = { text: (await frame.locator("main > :not(.unseen)").allInnerTexts()).join("\n"), send: await send.evaluate(colours) };
    await named(page, "Wait and echo").click();
    return { ...found, start: await page.getByRole("button", { name: "Start" }).evaluate(colours) };
  },
  // Answers or cancels, in the card of the server or, where it has none, in the console's own panel.
  press: async (page, inCard, inPanel) => {
    const frame = page.frameLocator(".card-frame").getByRole("button", { name: inCard, exact: true });
    const own = page.locator(".panel").getByRole("button", { name: inPanel, exact: true });
    const found = await Promise.any([frame, own].map(async (one) => { await one.first().waitFor(); return one.first(); }));
    await found.click();
  },
  // Answers a question to others as somebody; returns what was shown of it, and what the page says afterwards.
  decide: async (page, person, button) => {
    await press(page, page.getByRole("link", { name: /^Questions to others/, includeHidden: true }));
    await page.getByLabel("You are").selectOption(person);
    const card = page.locator(".entry").first();
    await card.waitFor();
    const shown = await card.innerText();
    await card.getByRole("button", { name: button, exact: true }).click();
    const said = page.locator("main [role=status]").filter({ hasText: /\S/ });
    await said.waitFor();
    return { shown, said: await said.innerText() };
  },
  // Approves the first question to others on its own page, in another window; returns what the console says then.
  decided_on_the_page: async (page) => {
    const link = page.getByRole("link", { name: "The page for approvers" }).first();
    const context = await page.context().browser().newContext(), other = await context.newPage();
    await other.goto(await link.getAttribute("href"));
    await Promise.all([other.waitForEvent("load"), other.getByRole("button", { name: "Approve" }).click()]);
    await context.close();
    const said = page.locator("main [role=status]").filter({ hasText: /\S/ });
    await said.waitFor();
    return said.innerText();
  },
  // Waits for what the list says of the task that is shown.
  status: async (page, words) => {
    const badge = listedTask(page).locator(".badge").first();
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
  // The graph; of an execution that has succeeded, once its end is drawn.
  graph: async (page, hasSucceeded) => {
    if (hasSucceeded) await page.locator('svg.graph .dot[data-status="succeeded"]').nth(1).waitFor();
    return page.locator("svg.graph").evaluate((svg) => ({
    states: svg.querySelectorAll("g.state").length,
    edges: svg.querySelectorAll(".edge").length,
    taken: svg.querySelectorAll(".edge.taken").length,
    errors: svg.querySelectorAll(".edge.catch").length,
    frames: svg.querySelectorAll(".frame").length,
    }));
  },
  // The messages of the task: era, method and headline of each, newest first; the first call opened.
  messages: async (page) => {
    await page.getByRole("tab", { name: "Messages" }).click();
    await page.locator("main .wire details").first().waitFor();
    await page.locator('main .wire details[data-method="tools/call"] summary').last().click();
    await page.locator("main .wire details[open] .exchange pre").first().waitFor();
    const opened = await page.locator("main .wire details[open] .exchange").innerText();
    const rows = await page.locator("main .wire details").evaluateAll((all) => all.map((one) => [one.dataset.era, one.dataset.method]));
    return { rows, opened };
  },
  all: async (page) => {
    await press(page, page.getByRole("link", { name: "All messages", includeHidden: true }));
    await page.locator("main .wire details").first().waitFor();
    return page.locator("main .wire details").evaluateAll((all) => all.map((one) => one.dataset.method));
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
    const list = await held(page, "**/console/api/tasks");
    await list.isHeld;
    const id = await STEPS.start(page, tool, fields);
    await list.release();
    await page.locator(".card-frame, .panel").first().waitFor();
    await page.locator("#tasks a").filter({ has: page.locator("time") }).first().waitFor();
    return { id, cards: await page.locator(".card-frame").count(), title: await page.locator(".head h1").innerText() };
  },
  // Chooses another protocol, and fills in a tool's form before the tools of that protocol are there; then starts the tool.
  protocol: async (page, era, tool, [label, value]) => {
    const list = await held(page, "**/mcp", isCall("tools/list"));
    await page.locator("#tools").evaluate((list) => { list.firstElementChild.dataset.old = "yes"; });
    await page.getByLabel("Protocol").selectOption(era);
    await list.isHeld;
    await fill(page, tool, [[label, value]]);
    await list.release();
    await page.locator("#tools [data-old]").waitFor({ state: "detached" });
    const written = await page.getByLabel(label).inputValue();
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator(".head .id").waitFor();
    return written;
  },
  // Presses Start twice, and writes into another tool's form before the call is answered; what is written there then, how
  // many calls went out, and what the first tool's form has when it is opened again.
  elsewhere: async (page, tool, fields, other, [label, value]) => {
    const call = await held(page, "**/mcp", isCall("tools/call"));
    let calls = 0;
    page.on("request", (request) => { calls += request.url().endsWith("/mcp") && isCall("tools/call")(request); });
    await fill(page, tool, fields);
    await page.getByRole("button", { name: "Start" }).click();
    await call.isHeld;
    await page.keyboard.press("Enter"); // on the button, which keeps the focus
    const focused = await page.evaluate(() => document.activeElement.textContent);
    await fill(page, other, [[label, value]]);
    await call.release();
    await page.locator("#said").filter({ hasText: "has started" }).waitFor();
    const written = await page.getByLabel(label).inputValue();
    await named(page, tool).click();
    await page.locator("main h1").filter({ hasText: tool }).waitFor();
    const again = await page.getByLabel(fields[0][0]).inputValue();
    await named(page, other).click();
    await page.locator("main h1").filter({ hasText: other }).waitFor();
    return { written, calls, focused, again, kept: await page.getByLabel(label).inputValue() };
  },
  // Writes one field of a form, turns the form into JSON, changes it there, and back; the JSON, and the field then.
  json: async (page, tool, [label, value], changed) => {
    await fill(page, tool, [[label, value]]);
    const box = page.getByLabel("as JSON", { exact: true }), raw = page.getByLabel("Arguments as JSON");
    await box.check();
    const json = await raw.inputValue();
    await raw.fill("no JSON");
    await box.click();
    const said = await page.locator(".out").innerText();
    await raw.fill(changed);
    await box.uncheck();
    return { json, said, field: await page.getByLabel(label).inputValue() };
  },
  // Writes into the first question to others; then another one is asked, and somebody else is chosen. What the keyboard goes
  // on to write, and how many have approved what it is written to.
  undisturbed: async (page, person) => {
    const field = page.locator(".entry").first().locator("textarea, input[type=text]").first();
    await field.fill("Half a sent");
    const other = page.locator(".entry").nth(await page.locator(".entry").count());
    const asBefore = await altered(page, "**/console/api/approvals?*", ([first, ...more]) =>
      [{ ...first, approvals: 2, approvedBy: ["Zoe"] }, ...more, { ...first, name: "another" }]);
    await other.waitFor();
    await page.keyboard.type("ence");
    await page.getByLabel("You are").selectOption(person);
    const counted = await page.locator(".entry").first().getByText("have approved").innerText();
    await asBefore();
    await other.waitFor({ state: "detached" });
    return [await field.inputValue(), counted];
  },
  // Writes into the card of a task that asks, looks at another page, comes back, and chooses another protocol; what is written
  // there after each.
  half: async (page, label, value, era) => {
    const field = page.frameLocator("main .card-frame").getByLabel(label);
    await field.fill(value);
    const task = listedTask(page);
    await page.getByRole("link", { name: "All messages" }).click();
    await page.locator("main h1").filter({ hasText: "Messages" }).waitFor();
    await task.click();
    const afterwards = await field.inputValue();
    await page.locator("#tools").evaluate((list) => { list.firstElementChild.dataset.old = "yes"; });
    await page.getByLabel("Protocol").selectOption(era);
    await page.locator("#tools [data-old]").waitFor({ state: "detached" });
    return [afterwards, await field.inputValue()];
  },
  // Has the keyboard at the listed task that is shown, whose status changes; where the keyboard is then.
  listed: async (page) => {
    await listedTask(page).focus();
    const isIt = ({ taskId }) => shownTask(page).endsWith(taskId);
    const asBefore = await altered(page, "**/console/api/tasks", (all) => all.map((one) => (isIt(one) ? { ...one, status: "cancelled" } : one)));
    await listedTask(page).locator(".badge").filter({ hasText: "cancelled" }).waitFor();
    const place = await page.evaluate(() => document.activeElement.closest("#tasks")?.id);
    await asBefore();
    return place;
  },
  // Opens all messages; the first answer comes after the second one. How many there are, and how many different ones.
  twice: async (page) => {
    const first = await held(page, "**/console/api/messages?*");
    await page.getByRole("link", { name: "All messages" }).click();
    await first.isHeld;
    await page.locator("main .wire details").first().waitFor();
    const isRead = page.waitForResponse("**/console/api/messages?*");
    await first.release();
    await isRead;
    return page.locator("main .wire details").evaluateAll((all) => [all.length, new Set(all.map((one) => one.dataset.number)).size]);
  },
  // Fills in a form, and chooses another protocol while nothing answers. What is said, and what is written there still;
  // then all answer again, and the form is sent.
  lost: async (page, era, tool, [label, value]) => {
    await fill(page, tool, [[label, value]]);
    const fails = (route) => route.abort();
    await page.route(/\/(mcp|console\/api\/.*)$/, fails);
    await page.getByLabel("Protocol").selectOption(era);
    await page.locator("#said").filter({ hasText: "cannot be" }).waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    const said = await page.locator(".out .fault").innerText();
    const written = await page.getByLabel(label).inputValue();
    await page.locator("#tools").evaluate((list) => { list.firstElementChild.dataset.old = "yes"; });
    await page.unroute(/\/(mcp|console\/api\/.*)$/, fails);
    await page.locator("#tools [data-old]").waitFor({ state: "detached" });
    await page.route("**/console/api/graphs/*", fails, { times: 1 });
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator("svg.graph").waitFor();
    return { said, written };
  },
  // Starts a tool that asks first; the answer does not arrive. What is said, and what is written still; then it is sent again.
  asked: async (page, tool, [label, value]) => {
    await fill(page, tool, []);
    await page.getByRole("button", { name: "Start" }).click();
    const field = page.locator(".out").getByLabel(label);
    await field.fill(value);
    await page.route("**/mcp", (route) => route.abort(), { times: 1 });
    await page.getByRole("button", { name: "Accept" }).click();
    const said = await page.locator(".out .fault:visible").first().innerText();
    const written = await field.inputValue();
    await page.getByRole("button", { name: "Accept" }).click();
    await page.locator(".head .id").waitFor();
    return { said, written };
  },
  // Where the keyboard is after the skip link of a page, and which page it is.
  skip: async (page, tool) => {
    await named(page, tool).click();
    await page.locator("main h1").filter({ hasText: tool }).waitFor();
    await page.locator(".skip").focus();
    await page.keyboard.press("Enter");
    return page.evaluate(() => [document.activeElement.id, document.querySelector("main h1").textContent]);
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
    await fill(page, tool, []);
    await page.getByRole("button", { name: "Start" }).click();
    return page.locator(".field:has([aria-invalid=true]) small").allInnerTexts();
  },
  // Chooses a tool by the keyboard, and goes on by Tab; the names of what has the focus then.
  keyboard: async (page, tool) => {
    await named(page, tool).focus();
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
  // Opens another view by its address, and waits until it is there instead of the one before.
  open: async (page, hash) => {
    const mark = String((opened += 1)); // its own: the page keeps the task that was left last, and shows it again
    const isThere = await page.evaluate(([to, old]) => {
      document.querySelector("main").firstElementChild.dataset.old = old;
      return location.hash === to;
    }, [hash, mark]);
    await page.goto(`${plan.page}${hash}`);
    if (!isThere) await page.locator(`main > [data-old="${mark}"]`).waitFor({ state: "detached" });
  },
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
