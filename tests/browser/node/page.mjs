// A page of the Chromium that the plan names, without the internet: only 127.0.0.1 has an address.
import { chromium } from "playwright-core";

// Does something with a browser, and closes it.
export async function withBrowser(program, act) {
  const args = ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"];
  const browser = await chromium.launch({ executablePath: program, args });
  try {
    return await act(browser);
  } finally {
    await browser.close();
  }
}

// Does something with an empty page, and closes the browser.
export const withPage = (program, act) => withBrowser(program, async (browser) => act(await browser.newPage()));
