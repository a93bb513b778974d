/** Starts Debian's Chromium for tests of the report page, if it is installed. Tests never download a browser. */
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES: readonly string[] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of Chromium; undefined if it is not installed. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** Starts Chromium without its sandbox, which needs permissions that containers do not have. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
