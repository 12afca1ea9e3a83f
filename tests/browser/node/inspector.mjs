// What the page of the MCP Inspector shows to a user who connects to its one server and calls a tool.
//
//     node inspector.mjs < plan.json
//
// The plan: `chromium`, `page` (the URL that the Inspector prints) and `tool`.
import { readFileSync } from "node:fs";
import { withPage } from "./page.mjs";

const plan = JSON.parse(readFileSync(0, "utf8"));

const seen = await withPage(plan.chromium, async (page) => {
  await page.goto(plan.page);
  // The page leaves for the issuer's, which sends it back to the callback, and that to the page.
  await page.getByRole("switch", { name: "Connect or disconnect" }).click({ force: true });
  await page.getByText("Tools", { exact: true }).click();
  await page.getByRole("button", { name: plan.tool }).click();
  const tools = await page.getByRole("heading", { name: /^Tools \(\d+\)$/ }).textContent();
  await page.getByRole("button", { name: "Execute Tool" }).click();
  await page.getByRole("heading", { name: "Structured Output" }).waitFor();
  const shown = page.locator(".ace_text-layer").first();
  await shown.filter({ hasText: "}" }).waitFor(); // the editor draws its text later than itself
  const result = await shown.innerText();
  return { tools, result: JSON.parse(result.replaceAll("\u00a0", " ")) };
});
process.stdout.write(JSON.stringify(seen));
