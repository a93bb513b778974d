import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { expectStorageError } from "../../../test/testing/storage/conformance/kv-fixture.ts";
import type { Kv } from "../kv.ts";
import { openSqliteKv } from "./kv.ts";
import { realClock } from "../../../test/testing/real-clock.ts";

interface Acknowledged {
  readonly key: string;
  readonly revision: number;
  readonly text: string;
}

/** Runs a process that commits until it is killed. */
class Writer {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  #output = "";

  constructor(directory: string) {
    this.#child = spawn(
      process.execPath,
      [fileURLToPath(new URL("../../../test/testing/storage/kv-sqlite/commit-forever.ts", import.meta.url)), directory],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    this.#ended = once(this.#child, "close");
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      for (const resolve of this.#waiting) resolve();
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async linesAtLeast(count: number): Promise<void> {
    while (this.#lines().length < count) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  /** Kills the process, and returns the commits that were acknowledged to it. */
  async kill(): Promise<Acknowledged[]> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    return this.#lines().map((line) => {
      const [key, revision, text] = line.split(" ");
      return { key: key!, revision: Number(revision), text: text! };
    });
  }

  async output(): Promise<string> {
    await this.#ended;
    return this.#output;
  }

  /** The last line may be truncated, and its commit is not counted as acknowledged. */
  #lines(): string[] {
    return this.#output.split("\n").slice(0, -1);
  }
}

class TempDirectory implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "evenkeel-crash-"));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

async function expectAllPresent(kv: Kv, acknowledged: readonly Acknowledged[]): Promise<void> {
  expect(await kv.currentRevision()).toBeGreaterThanOrEqual(Math.max(...acknowledged.map(({ revision }) => revision)));
  for (const { key, revision, text } of acknowledged) {
    const { items } = await kv.range({ start: key, revision });
    expect(items[0]?.modRevision).toBe(revision);
    expect(items[0]?.value.toString()).toBe(text.padEnd(3000, "."));
  }
}

test("every acknowledged commit survives kill -9, and revisions never go back", { timeout: 30_000 }, async () => {
  using directory = new TempDirectory();
  let newest = 1;
  // Waits for different numbers of lines, so that the kill interrupts the writer at different points.
  for (const lines of [20, 57, 141]) {
    const writer = new Writer(directory.path);
    await writer.linesAtLeast(lines);
    const acknowledged = await writer.kill();
    expect(Math.min(...acknowledged.map(({ revision }) => revision))).toBeGreaterThan(newest);
    const kv = await openSqliteKv({ directory: directory.path, clock: realClock() });
    await expectAllPresent(kv, acknowledged);
    newest = await kv.currentRevision();
    await kv.close();
  }
});

test(
  "a second process that opens the directory fails with an error that names the first, until the first has exited",
  { timeout: 30_000 },
  async () => {
    using directory = new TempDirectory();
    const first = new Writer(directory.path);
    await first.linesAtLeast(1);
    const second = new Writer(directory.path);
    const sentence = `The directory ${directory.path} is in use by another server, process ${first.pid}: stop that server or choose another directory.`;
    expect(await second.output()).toBe(`refused unavailable: ${sentence}\n`);
    const here = openSqliteKv({ directory: directory.path, clock: realClock() });
    expect((await expectStorageError(here, "unavailable")).message).toBe(sentence);
    await first.kill();
    const kv = await openSqliteKv({ directory: directory.path, clock: realClock() });
    await kv.close();
  },
);
