import { describe, expect, test } from "vitest";
import { must } from "../../base/assert.ts";
import { OPEN_TURNS_MAX } from "./sqlite-limits.ts";
import type { WorkerRequest } from "./protocol.ts";
import type { WorkerOutcome } from "./worker-link.ts";
import { WriteQueue } from "./write-queue.ts";

describe("a batch of writes", () => {
  test("is sent in the turn of its write if there are no concurrent writes", async () => {
    const { batches, write, commit } = openQueue();
    write();
    await turns(1);
    expect(batches).toEqual([1]);
    commit();
    write();
    await turns(1);
    expect(batches).toEqual([1, 1]);
  });

  test("stays open while each turn adds a write, if writes are concurrent", async () => {
    const { batches, write } = openQueue();
    write();
    write();
    await turns(1);
    for (let turn = 0; turn < 5; turn++) {
      write();
      await turns(1);
    }
    expect(batches).toEqual([]);
    await turns(1);
    expect(batches).toEqual([7]);
  });

  test("stays open after a batch of several writes, because their writers may write again", async () => {
    const { batches, write, commit } = openQueue();
    write();
    write();
    await turns(2);
    expect(batches).toEqual([2]);
    commit();
    write();
    await turns(1);
    write();
    await turns(1);
    expect(batches).toEqual([2]);
    await turns(1);
    expect(batches).toEqual([2, 2]);
  });

  test("is sent after a limited number of turns, even if each of them adds a write", async () => {
    const { batches, write } = openQueue();
    write();
    write();
    for (let turn = 0; turn <= OPEN_TURNS_MAX; turn++) {
      await turns(1);
      write();
    }
    expect(batches).toEqual([OPEN_TURNS_MAX + 2]);
  });
});

/** A queue whose worker commits a batch when `commit` is called. */
function openQueue() {
  const batches: number[] = [];
  const pending: (() => void)[] = [];
  const send = (request: WorkerRequest, settle: (outcome: WorkerOutcome) => void): void => {
    const writes = request.kind === "write" ? request.writes : [];
    batches.push(writes.length);
    const results = writes.map(() => ({ kind: "committed", revision: 2, createRevision: 2 }) as const);
    pending.push(() => settle({ kind: "write", results, revision: 2 }));
  };
  const queue = new WriteQueue({ hasFailed: false, send }, () => {});
  return {
    batches,
    write: () => void queue.add({ kind: "grant", ttlSeconds: 1 }),
    commit: () => must(pending.shift(), "a batch was sent")(),
  };
}

/** Resolves after the callbacks of the queue in the next `count` turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
