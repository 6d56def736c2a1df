// Looks for accessibility faults in pages with axe-core: light, dark, and on a phone. With --pictures it also takes a picture of
// each look, of the page as someone with deuteranopia sees it, and prints it on A4.
//
//   npm install --prefix target/axe axe-core puppeteer-core
//   node crates/report/tests/axe.mjs [--pictures DIR] runs/*/report.html
//
// Skips itself where chromium or these packages are missing. CHROMIUM names another browser.

import { existsSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";

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

const pages = process.argv.slice(2);
const pictures = pages[0] === "--pictures" ? pages.splice(0, 2)[1] : undefined;
if (pictures) mkdirSync(pictures, { recursive: true });

const looks = [
  { name: "light", width: 1100, scheme: "light" },
  { name: "dark", width: 1100, scheme: "dark" },
  { name: "phone", width: 390, scheme: "light" },
];
const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox"] });

async function opened(file, { width, scheme }) {
  const page = await browser.newPage();
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(`file://${resolve(file)}`);
  return page;
}

async function take(page, file, look) {
  const path = join(pictures, `${basename(file, ".html")}-${look}`);
  if (look === "print") await page.pdf({ path: `${path}.pdf`, preferCSSPageSize: true });
  else await page.screenshot({ path: `${path}.png`, fullPage: true });
}

let faults = 0;
for (const file of pages) {
  for (const look of looks) {
    const page = await opened(file, look);
    if (pictures) await take(page, file, look.name);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await page.addScriptTag({ path: axe });
    const { violations } = await page.evaluate(() => axe.run());
    for (const { id, help, nodes } of violations) {
      console.log(`${file} (${look.name}): ${id}: ${help}: ${nodes[0].html}`);
    }
    faults += violations.length;
    await page.close();
  }
  if (pictures) {
    const page = await opened(file, looks[0]);
    await page.emulateVisionDeficiency("deuteranopia");
    await take(page, file, "deuteranopia");
    await page.emulateVisionDeficiency("none");
    await take(page, file, "print");
    await page.close();
  }
}
await browser.close();
console.log(`${faults} faults`);
process.exit(faults > 0 ? 1 : 0);
