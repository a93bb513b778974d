/** A real browser, where there is one: Debian's chromium. It is not fetched. */
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES: readonly string[] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Undefined when there is none. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** Its sandbox needs rights that containers do not give. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
