import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inspectionHtml } from "../../src/tools/upgrade/report/inspection-html.ts";
import { disposableDirectory } from "../smoke/start-evenkeel.ts";
import { poison, sampleFinding, sampleInspection } from "../testing/tools/upgrade/sample-inspection.ts";
import { findChromium, launchChromium } from "./chromium.ts";

const executable = findChromium();
if (executable === undefined) console.warn("Chromium is not installed, so the test of the report page was not run.");

const LONG = "x".repeat(253);
const PHONE = { viewport: { width: 390, height: 844 } };
const DESKTOP = { viewport: { width: 1280, height: 900 } };

/** An expression for the browser: by how much the page is wider than its window. */
const OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth";

describe.skipIf(executable === undefined)("the report page of an inspection in a browser", () => {
  let browser: Browser;
  const directory = disposableDirectory();
  const urlOf = (html: string, name: string): string => {
    const file = join(directory.path, name);
    writeFileSync(file, html);
    return pathToFileURL(file).href;
  };
  let url: string;
  let hostileUrl: string;

  beforeAll(async () => {
    browser = await launchChromium(executable!);
    const options = { ignored: ["ignored-id"], writtenBy: "evenkeel development" };
    const subjects = Array.from({ length: 20 }, (_, n) => ({ name: `configmaps ${LONG}/${n}` }));
    const many = sampleFinding("warning", "many", { subjects, count: 200, fix: [`$ kubectl get ${LONG}`] });
    const { findings } = sampleInspection();
    const inspection = sampleInspection({ findings: [...findings, many] });
    url = urlOf(inspectionHtml(inspection, options), "inspection.html");
    const hostile = poison(inspection, `<img src=https://example.com/x onerror=document.title=1><b>${LONG}</b>`);
    hostileUrl = urlOf(inspectionHtml(hostile, options), "hostile.html");
  });
  afterAll(async () => {
    await browser?.close();
    directory[Symbol.dispose]();
  });

  async function open(
    address: string,
    options: BrowserContextOptions = {},
  ): Promise<{ readonly page: Page; readonly said: string[] }> {
    const page = await browser.newPage(options);
    const said: string[] = [];
    page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => said.push(error.message));
    page.on("request", (request) => {
      if (request.url() !== address && !request.url().startsWith("data:")) said.push(`requests ${request.url()}`);
    });
    await page.goto(address);
    return { page, said };
  }

  test("opens without console messages and without requests for further files", async () => {
    for (const address of [url, hostileUrl]) {
      const { said } = await open(address);
      expect(said).toEqual([]);
    }
  });

  test.each([
    ["1280", DESKTOP],
    ["390", PHONE],
  ])("fits into a window of %s pixels, even with long names", async (_, viewport) => {
    for (const address of [url, hostileUrl]) {
      const { page } = await open(address, viewport);
      await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
      expect(await page.evaluate(OVERFLOW)).toBe(0);
    }
  });

  test("shows markup in names as text", async () => {
    const { page } = await open(hostileUrl);
    expect(await page.evaluate(`document.querySelectorAll("main img, main b").length`)).toBe(0);
    expect(await page.evaluate(`document.body.textContent.includes("<img src=https://example.com/x")`)).toBe(true);
  });

  test("applies its style, in dark and in light", async () => {
    const background = "getComputedStyle(document.body).backgroundColor";
    const { page: light } = await open(url, { colorScheme: "light" });
    const { page: dark } = await open(url, { colorScheme: "dark" });
    expect(await light.evaluate(background)).toBe("rgb(255, 255, 255)");
    expect(await dark.evaluate(background)).toBe("rgb(20, 25, 31)");
  });

  test("prints dark text on white, also if the screen is dark", async () => {
    const { page } = await open(url, { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe("rgb(255, 255, 255)");
    expect(await page.evaluate("getComputedStyle(document.body).color")).toBe("rgb(0, 0, 0)");
    expect(await page.evaluate(`getComputedStyle(document.querySelector("nav")).display`)).toBe("none");
  });

  test("has a link to each of its sections", async () => {
    const { page } = await open(url);
    const links = `[...document.querySelectorAll("nav a")].map((link) => document.querySelector(link.hash)?.tagName)`;
    const targets = await page.evaluate<string[]>(links);
    expect(targets).toHaveLength(10);
    expect(new Set(targets)).toEqual(new Set(["H2"]));
  });
});
