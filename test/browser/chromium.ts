/** Starts Debian's Chromium, if it is installed. It is never downloaded. */
import { existsSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";

const PLACES: readonly string[] = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Undefined if it is not installed. */
export function findChromium(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}

/** The sandbox of Chromium needs permissions that containers do not have. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}
