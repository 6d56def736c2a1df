// Looks for accessibility faults in reports with axe-core: light, dark, and on a phone.
//
//   npm install --prefix target/axe axe-core puppeteer-core
//   node crates/report/tests/axe.mjs runs/*/report.html
//
// Skips itself where chromium or these packages are missing. CHROMIUM names another browser.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const modules = createRequire(resolve("target/axe/package.json"));
let axe, puppeteer;
try {
  axe = modules.resolve("axe-core/axe.min.js");
  puppeteer = modules("puppeteer-core");
} catch {
  console.log("skipped: run `npm install --prefix target/axe axe-core puppeteer-core` first");
  process.exit(0);
}
if (!existsSync(chromium)) {
  console.log(`skipped: there is no ${chromium}`);
  process.exit(0);
}

const looks = [[1100, "light"], [1100, "dark"], [400, "light"]];
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });
let faults = 0;
for (const report of process.argv.slice(2)) {
  for (const [width, scheme] of looks) {
    const page = await browser.newPage();
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(`file://${resolve(report)}`);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await page.addScriptTag({ path: axe });
    const { violations } = await page.evaluate(() => axe.run());
    for (const { id, help, nodes } of violations) {
      console.log(`${report} (${width} px, ${scheme}): ${id}: ${help}: ${nodes[0].html}`);
    }
    faults += violations.length;
    await page.close();
  }
}
await browser.close();
console.log(`${faults} faults`);
process.exit(faults > 0 ? 1 : 0);
