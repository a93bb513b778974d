/** Conformance tests of watches. */
import { expect, test } from "vitest";
import type { KvEvent } from "../../../../src/storage/kv.ts";
import { Recorder, bytes, create, describeEvent, put, remove, type KvSuiteContext } from "./kv-fixture.ts";

export function watchTests(context: KvSuiteContext): void {
  contentTests(context);
  orderTests(context);
  endTests(context);
}

function describeAll(events: readonly KvEvent[], prefix: string): string[] {
  return events.map((event) => describeEvent(event, prefix));
}

function contentTests(context: KvSuiteContext): void {
  test("a watch from the next revision sees creations, updates and deletions", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const key = `${prefix}a`;
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: (await fixture.kv.currentRevision()) + 1 });
    const created = await create(fixture.kv, key, "one");
    const updated = await put(fixture.kv, { key, value: "two", expectedRevision: created });
    const deleted = await remove(fixture.kv, key, updated);
    expect(await recorder.first(3)).toEqual([
      { kind: "put", key, value: bytes("one"), createRevision: created, modRevision: created },
      { kind: "put", key, value: bytes("two"), createRevision: created, modRevision: updated },
      { kind: "delete", key, modRevision: deleted },
    ]);
  });

  test("a watch from an old revision begins with the change of that revision and continues with new changes", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    await create(fixture.kv, `${prefix}a`);
    const b = await create(fixture.kv, `${prefix}b`, "b");
    const deleted = await remove(fixture.kv, `${prefix}b`, b);
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: b });
    expect(await recorder.first(2)).toEqual([
      { kind: "put", key: `${prefix}b`, value: bytes("b"), createRevision: b, modRevision: b },
      { kind: "delete", key: `${prefix}b`, modRevision: deleted },
    ]);
    const c = await create(fixture.kv, `${prefix}c`);
    expect(describeAll(await recorder.first(3), prefix)).toEqual([`put b@${b}`, `delete b@${deleted}`, `put c@${c}`]);
  });

  test("a watch from a future revision sees no earlier change", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const revision = await fixture.kv.currentRevision();
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: revision + 3 });
    const revisions: number[] = [];
    while ((revisions.at(-1) ?? 0) < revision + 5)
      revisions.push(await create(fixture.kv, `${prefix}${revisions.length}`));
    const expected = revisions.filter((made) => made >= revision + 3);
    expect((await recorder.through(revisions.at(-1)!)).map((event) => event.modRevision)).toEqual(expected);
  });

  test("a watch sees the keys of its prefix and no others", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    await create(fixture.kv, `${prefix}a/bc`);
    const inside = await create(fixture.kv, `${prefix}a/b/x`);
    const live = Recorder.start(fixture.kv, { prefix: `${prefix}a/b/`, fromRevision });
    const plain = Recorder.start(fixture.kv, { prefix: `${prefix}a/b`, fromRevision });
    await create(fixture.kv, `${prefix}a/bd`);
    await create(fixture.kv, `${prefix}a/c`);
    await create(fixture.kv, `${prefix}a/b`);
    const last = await create(fixture.kv, `${prefix}a/b/y`);
    expect(describeAll(await live.through(last), prefix)).toEqual([`put a/b/x@${inside}`, `put a/b/y@${last}`]);
    expect((await plain.through(last)).map((event) => event.key.slice(prefix.length))).toEqual([
      "a/bc",
      "a/b/x",
      "a/bd",
      "a/b",
      "a/b/y",
    ]);
  });

  test("progress up to a revision is never reported before the events of that revision", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const seen: number[] = [];
    const tooEarly: number[] = [];
    let progress = 0;
    const done = Promise.withResolvers<void>();
    const watching = fixture.kv.watch(
      { prefix, fromRevision },
      {
        events: (batch) => {
          for (const { modRevision } of batch) {
            if (modRevision <= progress) tooEarly.push(modRevision);
            seen.push(modRevision);
          }
          if (seen.length === 30) done.resolve();
        },
        progress: (revision) => (progress = Math.max(progress, revision)),
        interrupted: () => {},
        closed: done.reject,
      },
    );
    await Promise.all(Array.from({ length: 30 }, (_, index) => create(fixture.kv, `${prefix}${index}`)));
    await done.promise;
    expect(tooEarly).toEqual([]);
    watching.close();
  });
}

function orderTests(context: KvSuiteContext): void {
  test("watches that are started at any time see every change exactly once and in order", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const recorders: Recorder[] = [];
    const revisions: number[] = [];
    for (let round = 0; round < 10; round++) {
      const commits = Array.from({ length: 20 }, (_, index) => create(fixture.kv, `${prefix}${round}-${index}`));
      recorders.push(Recorder.start(fixture.kv, { prefix, fromRevision }));
      revisions.push(...(await Promise.all(commits)));
    }
    const expected = revisions.toSorted((left, right) => left - right);
    for (const recorder of recorders) {
      const events = await recorder.through(expected.at(-1)!);
      expect(events.map((event) => event.modRevision)).toEqual(expected);
    }
  });

  test("a watch of a long history sees every change exactly once while writes continue", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const createMany = (name: string): Promise<number[]> =>
      Promise.all(Array.from({ length: 2500 }, (_, index) => create(fixture.kv, `${prefix}${name}-${index}`)));
    const history = await createMany("early");
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision });
    const live = await createMany("late");
    const expected = [...history, ...live].toSorted((left, right) => left - right);
    const events = await recorder.through(expected.at(-1)!);
    expect(events.map((event) => event.modRevision)).toEqual(expected);
  });

  test("several watches are independent of each other", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const left = Recorder.start(fixture.kv, { prefix: `${prefix}left/`, fromRevision });
    const right = Recorder.start(fixture.kv, { prefix: `${prefix}right/`, fromRevision });
    const both = Recorder.start(fixture.kv, { prefix, fromRevision });
    const inLeft = await create(fixture.kv, `${prefix}left/a`);
    const inRight = await create(fixture.kv, `${prefix}right/a`);
    expect(describeAll(await left.first(1), prefix)).toEqual([`put left/a@${inLeft}`]);
    expect(describeAll(await right.first(1), prefix)).toEqual([`put right/a@${inRight}`]);
    expect(describeAll(await both.first(2), prefix)).toEqual([`put left/a@${inLeft}`, `put right/a@${inRight}`]);
  });

  test("a sink that commits while it receives an event receives the event of its own commit later", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const recorder = new Recorder();
    const chained = Promise.withResolvers<number>();
    const watching = fixture.kv.watch(
      { prefix, fromRevision: (await fixture.kv.currentRevision()) + 1 },
      {
        events: (batch) => {
          recorder.events(batch);
          if (recorder.all.length === 1) create(fixture.kv, `${prefix}b`).then(chained.resolve, chained.reject);
        },
        progress: () => {},
        interrupted: () => {},
        closed: (error) => recorder.closed(error),
      },
    );
    const first = await create(fixture.kv, `${prefix}a`);
    expect(describeAll(await recorder.first(2), prefix)).toEqual([`put a@${first}`, `put b@${await chained.promise}`]);
    watching.close();
  });
}

function endTests(context: KvSuiteContext): void {
  test("a closed watch receives nothing more, not even the notification that it has ended", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    const stopped = Recorder.start(fixture.kv, { prefix, fromRevision });
    const other = Recorder.start(fixture.kv, { prefix, fromRevision });
    const first = await create(fixture.kv, `${prefix}a`);
    await stopped.first(1);
    stopped.stop();
    stopped.stop();
    await create(fixture.kv, `${prefix}b`);
    await other.first(2);
    await fixture.kv.close();
    expect(describeAll(stopped.all, prefix)).toEqual([`put a@${first}`]);
    expect(stopped.closings).toEqual([]);
  });

  test("a watch that is closed before it starts receives nothing", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = await create(fixture.kv, `${prefix}a`);
    const stopped = Recorder.start(fixture.kv, { prefix, fromRevision });
    stopped.stop();
    await Recorder.start(fixture.kv, { prefix, fromRevision }).first(1);
    expect(stopped.all).toEqual([]);
  });

  test("a watch that its own sink closes receives no further events", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const fromRevision = (await fixture.kv.currentRevision()) + 1;
    let calls = 0;
    const { promise: received, resolve: receive } = Promise.withResolvers<void>();
    const watching = fixture.kv.watch(
      { prefix, fromRevision },
      {
        events: () => {
          calls++;
          watching.close();
          receive();
        },
        progress: () => {},
        interrupted: () => {},
        closed: () => calls++,
      },
    );
    await create(fixture.kv, `${prefix}a`);
    // Another watch may receive both events before this one receives the first.
    await received;
    await create(fixture.kv, `${prefix}b`);
    await Recorder.start(fixture.kv, { prefix, fromRevision }).first(2);
    expect(calls).toBe(1);
  });

  test("closing the store ends each of its watches once, with code unavailable", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: (await fixture.kv.currentRevision()) + 1 });
    const revision = await create(fixture.kv, `${prefix}a`);
    await recorder.through(revision);
    await fixture.kv.close();
    expect(await recorder.closing()).toMatchObject({ code: "unavailable" });
    expect(recorder.closings).toHaveLength(1);
  });

  test.runIf(context.capabilities.canCompact)(
    "a watch from a revision below the compacted one ends with code revision-compacted",
    async () => {
      await using fixture = await context.open();
      const prefix = context.prefix();
      const first = await create(fixture.kv, `${prefix}a`);
      const second = await create(fixture.kv, `${prefix}b`);
      await fixture.kv.compact(second);
      const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: first });
      expect(await recorder.closing()).toMatchObject({ name: "StorageError", code: "revision-compacted" });
      expect(recorder.all).toEqual([]);
      const fromCompacted = Recorder.start(fixture.kv, { prefix, fromRevision: second });
      expect(describeAll(await fromCompacted.first(1), prefix)).toEqual([`put b@${second}`]);
    },
  );

  test.runIf(context.capabilities.canCompact)("a watch that has started continues after a compaction", async () => {
    await using fixture = await context.open();
    const prefix = context.prefix();
    const recorder = Recorder.start(fixture.kv, { prefix, fromRevision: (await fixture.kv.currentRevision()) + 1 });
    const first = await create(fixture.kv, `${prefix}a`);
    await recorder.through(first);
    await fixture.kv.compact(first);
    const second = await create(fixture.kv, `${prefix}b`);
    expect(describeAll(await recorder.through(second), prefix)).toEqual([`put a@${first}`, `put b@${second}`]);
    expect(recorder.closings).toEqual([]);
  });
}
