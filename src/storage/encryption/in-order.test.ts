import { describe, expect, test } from "vitest";
import { StorageError, type KvEvent, type WatchSink } from "../kv.ts";
import { inOrder } from "./in-order.ts";

/** A watch whose batches wait until the test opens them. */
class WaitingWatch {
  readonly said: string[] = [];
  readonly #pending: (() => void)[] = [];
  source!: WatchSink;
  isSourceOpen = true;
  failAt = 0;
  readonly watching = inOrder(
    {
      events: (batch) => {
        if (batch[0]?.modRevision === this.failAt) throw new Error("the sink failed");
        this.said.push(`events ${batch.map(({ modRevision }) => modRevision).join()}`);
      },
      progress: (revision) => this.said.push(`progress ${revision}`),
      interrupted: (isInterrupted) => this.said.push(`interrupted ${isInterrupted}`),
      closed: ({ code, message }) => this.said.push(`closed ${code}: ${message}`),
    },
    (batch) => (batch[0]!.key === "wait" ? new Promise((resolve) => this.#pending.push(() => resolve(batch))) : batch),
    (through) => {
      this.source = through;
      return { close: () => void (this.isSourceOpen = false) };
    },
  );

  send(modRevision: number, key = "known"): void {
    const event: KvEvent = { kind: "delete", key, modRevision };
    this.source.events([event]);
  }

  /** Ends the wait of the oldest batch, or of a later one. */
  async open(index = 0): Promise<void> {
    this.#pending.splice(index, 1)[0]?.();
    await Promise.resolve();
    await Promise.resolve();
  }
}

describe("a watch whose values wait for data keys", () => {
  test("delivers at once what need not wait", () => {
    const watch = new WaitingWatch();
    watch.send(1);
    watch.source.progress(2);
    expect(watch.said).toEqual(["events 1", "progress 2"]);
  });

  test("delivers everything behind a waiting batch in order", async () => {
    const watch = new WaitingWatch();
    watch.send(1, "wait");
    watch.send(2);
    watch.source.interrupted(true);
    watch.send(3, "wait");
    watch.source.progress(4);
    expect(watch.said).toEqual([]);
    await watch.open();
    expect(watch.said).toEqual(["events 1", "events 2", "interrupted true"]);
    watch.send(5);
    await watch.open();
    expect(watch.said.slice(3)).toEqual(["events 3", "progress 4", "events 5"]);
  });

  test("waits for several data keys together, and not for one after the other", async () => {
    const watch = new WaitingWatch();
    for (const revision of [1, 2, 3]) watch.send(revision, "wait");
    await watch.open(2);
    await watch.open(1);
    expect(watch.said).toEqual([]);
    await watch.open();
    await watch.open();
    expect(watch.said).toEqual(["events 1", "events 2", "events 3"]);
  });

  test("delivers nothing after it was closed by its reader or by the store", async () => {
    for (const isClosedByStore of [true, false]) {
      const watch = new WaitingWatch();
      watch.send(1, "wait");
      watch.send(2);
      if (isClosedByStore) watch.source.closed(new StorageError("history-changed", "restored"));
      else watch.watching.close();
      await watch.open();
      expect(watch.said).toEqual(isClosedByStore ? ["closed history-changed: restored"] : []);
    }
  });

  test("ends if its reader fails, and if too much waits", async () => {
    const failing = new WaitingWatch();
    failing.failAt = 2;
    failing.send(1, "wait");
    failing.send(2);
    await failing.open();
    expect(failing.said).toEqual(["events 1", "closed unavailable: the watch failed: the sink failed"]);
    expect(failing.isSourceOpen).toBe(false);
    const flooded = new WaitingWatch();
    flooded.send(1, "wait");
    for (let revision = 2; flooded.isSourceOpen && revision < 100_000; revision++) flooded.send(revision);
    expect(flooded.said).toEqual(["closed overloaded: too many changes wait for the decryption of data keys"]);
    await flooded.open();
    expect(flooded.said).toHaveLength(1);
  });
});
