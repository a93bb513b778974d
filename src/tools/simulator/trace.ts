/** The trace of a simulation: one line per event, and a digest of all lines to compare two runs. */
import { createHash, type Hash } from "node:crypto";

interface TraceOptions {
  readonly monotonic: () => number;
  /** How many of the last lines are kept. */
  readonly keepMax: number;
}

export class Trace {
  readonly #options: TraceOptions;
  readonly #hash: Hash = createHash("sha256");
  #lines: string[] = [];

  constructor(options: TraceOptions) {
    this.#options = options;
  }

  add(who: string, what: string): void {
    const line = `${(this.#options.monotonic() / 1000).toFixed(3).padStart(9)}  ${who.padEnd(9)} ${what}`;
    this.#hash.update(line);
    this.#lines.push(line);
    const { keepMax } = this.#options;
    if (this.#lines.length >= 2 * keepMax) this.#lines = this.#lines.slice(-keepMax);
  }

  /** The kept lines, oldest first. */
  get lines(): readonly string[] {
    return this.#lines.slice(-this.#options.keepMax);
  }

  /** Digest of all lines so far, including those that are not kept. */
  digest(): string {
    return this.#hash.copy().digest("hex");
  }
}
