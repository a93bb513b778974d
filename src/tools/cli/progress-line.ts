/** Shows the progress of reading the whole store, on a terminal only. */
import type { ReportProgress } from "./request-report.ts";

/** Reading fewer keys than this ends before a user needs a progress line. */
const KEYS_SHOWN_MIN = 5_000;
const BAR_LENGTH = 30;

export interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export class ProgressLine {
  readonly #terminal: Terminal;
  #isShown = false;
  #last = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** `what`: for example "read", instead of the number of keys. */
  show({ done, total }: ReportProgress, what = `of ${total} keys`): void {
    if (this.#terminal.isTTY !== true || total < KEYS_SHOWN_MIN) return;
    const share = Math.min(1, Math.max(0, done / total));
    const bar = "#".repeat(Math.round(share * BAR_LENGTH)).padEnd(BAR_LENGTH, ".");
    const line = `[${bar}] ${Math.floor(share * 100)}% ${what}`;
    if (line === this.#last) return;
    if (line.length < this.#last.length) this.clear();
    [this.#isShown, this.#last] = [true, line];
    this.#terminal.write(`\r${line}`);
  }

  clear(): void {
    if (this.#isShown) this.#terminal.write("\r\u001b[K");
    [this.#isShown, this.#last] = [false, ""];
  }
}
