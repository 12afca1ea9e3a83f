// What a person sees and does on a page of the endpoint, in a browser without JavaScript or with it.
//
//     node endpoint.mjs < plan.json
//
// The plan: `chromium`, `theme`, `width`, `height`, `script` (whether the page may run scripts: axe is one), and `steps`: a list of
// [name, ...arguments] of STEPS below. It prints what each step saw, and the page's errors.
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { withBrowser } from "./page.mjs";

const plan = JSON.parse(readFileSync(0, "utf8"));
const PATIENCE = 120_000; // milliseconds: the machine may be busy
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const STEPS = {
  open: async (page, url) => (await page.goto(url)).status(),
  text: (page) => page.locator("body").innerText(),
  // Follows a link or presses a button by its name; each leads to a page.
  press: async (page, role, name) => {
    await Promise.all([page.waitForEvent("load"), page.getByRole(role, { name, exact: true }).click()]);
    return page.locator("h1").innerText();
  },
  fill: (page, label, value) => page.getByLabel(label).fill(value),
  // Presses keys, and says what has the focus after each; Enter sends the form.
  keys: async (page, ...keys) => {
    const seen = [];
    for (const key of keys) {
      if (key.startsWith("text:")) await page.keyboard.type(key.slice(5));
      else if (key === "Enter") await Promise.all([page.waitForEvent("load"), page.keyboard.press(key)]);
      else await page.keyboard.press(key);
      const focused = page.locator(":focus");
      seen.push(await focused.count() ? await focused.evaluate((one) => one.textContent.trim() || one.name || one.tagName) : "");
    }
    return seen;
  },
  // Whether the page is wider than its window.
  overflows: (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth),
  // The buttons that are out of sight before anybody scrolls.
  hidden: (page) => page.evaluate(() => [...document.querySelectorAll("button")].filter((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return top < 0 || bottom > innerHeight;
  }).map((one) => one.textContent)),
  // The texts of which a part is cut off.
  cut: (page) => page.evaluate(() => [...document.querySelectorAll("pre, code, p")].filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth)
    .map((one) => one.textContent)),
  // Presses each button, and says what it is called, what it says then, and what the clipboard has.
  copies: async (page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const seen = [];
    for (const button of await page.getByRole("button").all()) {
      const name = await button.getAttribute("aria-label");
      await button.click();
      await button.filter({ hasText: /Copied|Selected/ }).waitFor();
      seen.push({ name, said: await button.textContent(), text: await page.evaluate(() => navigator.clipboard.readText()) });
    }
    return seen;
  },
  axe: async (page) => {
    await page.evaluate(axe.source);
    return page.evaluate(async (tags) => {
      const { violations } = await window.axe.run(document, { runOnly: tags });
      return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 150)}`));
    }, TAGS);
  },
  // Shows another page's frame with a URL in it; returns what the frame has.
  framed: async (page, url) => {
    const refused = page.waitForEvent("console", (message) => message.text().includes("frame"));
    await page.setContent(`<iframe src="${url}"></iframe>`);
    return (await refused).text();
  },
  picture: (page, path) => page.screenshot({ path, fullPage: true }).then(() => null),
};

const seen = await withBrowser(plan.chromium, async (browser) => {
  const context = await browser.newContext({
    javaScriptEnabled: plan.script ?? false,
    colorScheme: plan.theme ?? "light",
    viewport: { width: plan.width ?? 800, height: plan.height ?? 900 },
  });
  const page = await context.newPage(), errors = [], results = [];
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  for (const [name, ...given] of plan.steps) {
    try {
      results.push(await STEPS[name](page, ...given));
    } catch (error) {
      throw new Error(`${name} ${JSON.stringify(given)}: ${error.message}\n${errors.join("\n")}\n${await page.locator("body").innerText()}`);
    }
  }
  return { results, errors, cookies: await context.cookies() };
});
process.stdout.write(JSON.stringify(seen));
