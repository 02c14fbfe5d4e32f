// Opens finished pages in Chromium and asks axe-core whether they keep WCAG 2.2, levels A and AA: at a desk in both themes, on a
// phone, and as printed, with every fold open. Beyond axe: nothing is wider than its screen or paper, the first Tab is the way past the
// contents, and the whole page stands there without scripts. With --shots DIR it leaves pictures and the printed page there.
//
// usage: node check.mjs --modules DIR [--chromium PATH] [--shots DIR] PAGE...
// Ends with 1 where a page breaks a rule.

import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: given, positionals: pages } = parseArgs({
  allowPositionals: true,
  options: { modules: { type: "string" }, chromium: { type: "string", default: "/usr/bin/chromium" }, shots: { type: "string" } },
});
if (!given.modules || pages.length === 0) {
  console.error("usage: node check.mjs --modules DIR [--chromium PATH] [--shots DIR] PAGE...");
  process.exit(2);
}
const require = createRequire(path.resolve(given.modules, "package.json"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core");

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
// Nobody taps on paper.
const OFF_PAPER = { "target-size": { enabled: false } };
// What axe leaves open, text in drawings and arrows above all, is settled by the test of src/report/draw/palette.rs.
const SLICE = 1500;
const PHONE = { width: 390, height: 844 };
const VIEWS = {
  desktop: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: PHONE, colorScheme: "light", isMobile: true, hasTouch: true },
  // The text column of an A4 page in CSS pixels.
  print: { viewport: { width: 673, height: 950 }, colorScheme: "light", media: "print" },
};
if (given.shots) mkdirSync(given.shots, { recursive: true });

const browser = await chromium.launch({
  executablePath: given.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let faults = 0;
const fault = (where, what) => {
  faults += 1;
  console.log(`${where}: ${what}`);
};

// A picture of the whole page at once is more than the browser can hold.
const shoot = async (tab, stem) => {
  const [width, height] = await tab.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollHeight]);
  await tab.setViewportSize({ width, height: SLICE });
  for (let [y, i] = [0, 0]; y < height; [y, i] = [y + SLICE, i + 1]) {
    await tab.evaluate((y) => window.scrollTo(0, y), y);
    await tab.screenshot({ path: `${stem}-${String(i).padStart(2, "0")}.png` });
  }
};

for (const page of pages) {
  const url = pathToFileURL(page).href;
  const name = path.basename(path.dirname(path.resolve(page)));
  for (const [view, { media, ...settings }] of Object.entries(VIEWS)) {
    const where = `${name}, ${view}`;
    // The page forbids scripts; only this check may bring one.
    const context = await browser.newContext({ ...settings, bypassCSP: true });
    const tab = await context.newPage();
    const requests = [];
    tab.on("request", (request) => request.url() !== url && requests.push(request.url()));
    await tab.emulateMedia({ media: media ?? "screen", colorScheme: settings.colorScheme });
    await tab.goto(url);
    if (view === "desktop") {
      await tab.keyboard.press("Tab");
      const first = await tab.evaluate(() => document.activeElement.className);
      if (first !== "skip") fault(where, `the first Tab reaches \`${first}\`, not the way past the contents`);
      await tab.evaluate(() => document.activeElement.blur());
    }
    await tab.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
    const wide = await tab.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    // A printer would shrink all of a page that is too wide.
    if (wide > 0) fault(where, `the page is ${wide} pixels wider than the ${media ? "paper" : "screen"}`);
    await tab.addScriptTag({ path: axe });
    const options = { runOnly: TAGS, rules: media ? OFF_PAPER : {}, resultTypes: ["violations", "incomplete"] };
    const found = await tab.evaluate((options) => window.axe.run(document, options), options);
    for (const violation of found.violations) {
      const nodes = violation.nodes.slice(0, 5).map((node) => `\n    ${node.target.join(" ")}: ${node.failureSummary.split("\n").join(" ")}`);
      fault(where, `${violation.id} (${violation.impact}), ${violation.nodes.length} times: ${violation.help}${nodes.join("")}`);
    }
    const open = found.incomplete.map((rule) => `${rule.id} ${rule.nodes.length}`).join(", ");
    if (requests.length > 0) fault(where, `the page asks for ${requests.join(", ")}`);
    if (given.shots) await shoot(tab, path.join(given.shots, `${name}-${view}`));
    console.log(`${where}: ${found.violations.length} violations${open ? `; axe could not decide: ${open}` : ""}`);
    await context.close();
  }
  if (given.shots) {
    const context = await browser.newContext();
    const tab = await context.newPage();
    await tab.goto(url);
    await tab.pdf({ path: path.join(given.shots, `${name}.pdf`), preferCSSPageSize: true });
    await context.close();
  }
}
await browser.close();
process.exit(faults > 0 ? 1 : 0);
