/** Shows the progress of a rehearsal: the run, the played time and the time left, on a terminal only. */
import type { PlayProgress } from "../rehearsal/rehearse.ts";
import { wordsOf } from "../rehearsal/subject.ts";
import { durationText } from "../rehearsal/times.ts";
import type { Terminal } from "./progress-line.ts";

/** A shorter share of the work says too little about the speed of the rest. */
const SHARE_MIN = 0.03;

export class RehearsalProgress {
  readonly #terminal: Terminal;
  readonly #nowMs: () => number;
  readonly #startedAtMs: number;

  constructor(terminal: Terminal, nowMs: () => number) {
    this.#terminal = terminal;
    this.#nowMs = nowMs;
    this.#startedAtMs = nowMs();
  }

  show({ subject, run, runs, passedMs, durationMs }: PlayProgress): void {
    if (this.#terminal.isTTY !== true) return;
    const [minute, minutes] = [Math.floor(passedMs / 60_000), Math.ceil(durationMs / 60_000)];
    const share = (run - 1 + passedMs / durationMs) / runs;
    const leftMs = ((this.#nowMs() - this.#startedAtMs) / share) * (1 - share);
    const left = share < SHARE_MIN ? "" : `, about ${durationText(Math.ceil(leftMs / 1_000) * 1_000)} left`;
    this.#terminal.write(
      `\r\u001b[Krun ${run} of ${runs} (${wordsOf(subject).name}), minute ${minute} of ${minutes}${left}`,
    );
  }

  clear(): void {
    if (this.#terminal.isTTY === true) this.#terminal.write("\r\u001b[K");
  }
}
