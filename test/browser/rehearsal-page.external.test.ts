import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rehearsalHtml } from "../../src/tools/rehearsal/html.ts";
import { rehearse } from "../../src/tools/rehearsal/rehearse.ts";
import { readManifests } from "../../src/tools/upgrade/manifests/read-manifests.ts";
import { disposableDirectory } from "../smoke/start-evenkeel.ts";
import { findChromium, launchChromium } from "./chromium.ts";

const executable = findChromium();
if (executable === undefined) console.warn("Chromium is not installed, so the test of the report page was not run.");

const MANIFEST = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: <b>e</b>}\n";

interface Shown {
  readonly path: string;
  readonly text: string;
}

/** Expressions for the browser: the figures that the page shows, and their values in the embedded report. */
const FIGURES = `[...document.querySelectorAll("[data-figure]")].map((cell) => ({ path: cell.dataset.figure, text: cell.textContent }))`;
const VALUES = `(paths) => paths.map((path) => path.split(".").reduce((value, key) => value?.[key], JSON.parse(document.getElementById("report").textContent)) ?? 0)`;

describe.skipIf(executable === undefined)("the report page of a rehearsal in a browser", () => {
  let browser: Browser;
  let url: string;
  const directory = disposableDirectory();

  beforeAll(async () => {
    browser = await launchChromium(executable!);
    const report = await rehearse({
      ...{ from: "1.33", to: "1.34", servers: 2, minutes: 2, way: "up", faults: "light", gate: "on", seed: 1 },
      manifests: readManifests([{ path: "a.yaml", text: MANIFEST }]).manifests,
    });
    const file = join(directory.path, "rehearsal.html");
    writeFileSync(file, rehearsalHtml(report));
    url = pathToFileURL(file).href;
  });
  afterAll(async () => {
    await browser?.close();
    directory[Symbol.dispose]();
  });

  async function open(options: BrowserContextOptions = {}): Promise<{ readonly page: Page; readonly said: string[] }> {
    const page = await browser.newPage(options);
    const said: string[] = [];
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(error.message));
    page.on("request", (request) => {
      if (request.url() !== url && !request.url().startsWith("data:")) said.push(`asks for ${request.url()}`);
    });
    await page.goto(url);
    return { page, said };
  }

  test("opens without console messages and without requests for further files", async () => {
    const { said } = await open();
    expect(said).toEqual([]);
  });

  test("shows the figures of the embedded report", async () => {
    const { page } = await open();
    const shown = await page.evaluate<Shown[]>(FIGURES);
    const values = await page.evaluate<number[]>(`(${VALUES})(${JSON.stringify(shown.map(({ path }) => path))})`);
    expect(shown.length).toBeGreaterThan(30);
    expect(shown.map(({ text }) => text)).toEqual(values.map(String));
  });

  test("draws its charts, and shows markup in a manifest as text", async () => {
    const { page } = await open();
    const sizes = await page.evaluate<number[]>(
      `[...document.querySelectorAll("svg")].map((svg) => svg.getBoundingClientRect().height)`,
    );
    expect(sizes.length).toBeGreaterThanOrEqual(2);
    expect(Math.min(...sizes)).toBeGreaterThan(50);
    expect(await page.evaluate(`document.querySelector("main b")`)).toBeNull();
    expect(await page.evaluate(`document.body.textContent.includes("<b>e</b>")`)).toBe(true);
  });

  test("is readable without scripts", async () => {
    const { page, said } = await open({ javaScriptEnabled: false });
    expect(await page.locator("h1").textContent()).toBe("Rehearsal of 1.33 to 1.34");
    expect(await page.locator("[data-figure='runs.on.wrong']").textContent()).toBe("0");
    expect(await page.locator("svg").count()).toBeGreaterThanOrEqual(2);
    expect(said).toEqual([]);
  });

  test("hides the wrong responses that do not contain the search text", async () => {
    const { page } = await open();
    await page.fill("details.wrong input", "nothing says this");
    expect(await page.evaluate(`document.querySelectorAll("details.wrong tbody tr:not([hidden])").length`)).toBe(0);
  });
});
