/** Prints the output of `evenkeel up`: lines, and on a terminal a status line at the bottom. */
import type { WriteStream } from "node:tty";

interface DisplayOptions {
  readonly out: Pick<WriteStream, "write" | "columns">;
  readonly err: Pick<WriteStream, "write">;
  /** "json" prints no lines, so that standard output contains only the one line of JSON at the end. */
  readonly mode: "live" | "plain" | "json";
  /** Returns the text of the status line. */
  readonly status: () => string;
  /** Reads what the status line shows. Called at an interval while the line is shown. */
  readonly refresh: () => Promise<void>;
}

const REDRAW_MS = 500;
const REFRESH_MS = 2_000;
const CLEAR_LINE = "\r\x1b[2K";
const COLUMNS = 80;

export class Display {
  readonly #options: DisplayOptions;
  readonly #refresh: NodeJS.Timeout | undefined;
  #redraw: NodeJS.Timeout | undefined;
  #drawn = "";
  #isStopped = false;

  constructor(options: DisplayOptions) {
    this.#options = options;
    if (options.mode === "live") this.#refresh = setInterval(() => void this.#read(), REFRESH_MS).unref();
  }

  line(text: string): void {
    const { mode, out } = this.#options;
    if (mode === "json") return;
    this.#clear();
    out.write(`${text}\n`);
    this.changed();
  }

  log(text: string): void {
    this.#clear();
    this.#options.err.write(text);
    this.changed();
  }

  /** Redraws the status line, at most as often as a user can read it. */
  changed(): void {
    if (this.#options.mode === "live") this.#redraw ??= setTimeout(() => this.#draw(), REDRAW_MS).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#refresh);
    clearTimeout(this.#redraw);
    this.#clear();
  }

  async #read(): Promise<void> {
    await this.#options.refresh();
    if (!this.#isStopped) this.changed();
  }

  #draw(): void {
    this.#redraw = undefined;
    const { out, status } = this.#options;
    const text = status().slice(0, (out.columns || COLUMNS) - 1);
    if (text === this.#drawn) return;
    out.write(CLEAR_LINE + text);
    this.#drawn = text;
  }

  #clear(): void {
    if (this.#drawn !== "") this.#options.out.write(CLEAR_LINE);
    this.#drawn = "";
  }
}
