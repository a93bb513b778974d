/** Conformance tests of guards: a change is committed only if the keys of its guards have the expected revisions. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { GUARDS_MAX, type CommitResult, type Guard, type Kv } from "../../../../src/storage/kv.ts";
import { Recorder, bytes, create, describeEvent, put, remove, type KvSuiteContext } from "./kv-fixture.ts";

export function guardTests(context: KvSuiteContext): void {
  outcomeTests(context);
  lossTests(context);
  severalTests(context);
  deleteTests(context);
  tracelessTests(context);
  raceTests(context);
}

interface Keys {
  readonly prefix: string;
  readonly key: string;
  readonly guardKey: string;
}

function keysOf(context: KvSuiteContext): Keys {
  const prefix = context.prefix();
  return { prefix, key: `${prefix}a`, guardKey: `${prefix}guard` };
}

function guarded(
  kv: Kv,
  key: string,
  guard: Guard,
  { value = "guarded", expectedRevision = 0 } = {},
): Promise<CommitResult> {
  return kv.commit({ kind: "put", key, value: bytes(value), expectedRevision, guards: [guard] });
}

function outcomeTests(context: KvSuiteContext): void {
  test("a put whose guard holds is committed, and does not change the guard's key", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey, "guard");
    const created = await guarded(kv, key, { key: guardKey, revision });
    expect(created).toMatchObject({ committed: true });
    const updated = await guarded(kv, key, { key: guardKey, revision }, { expectedRevision: created.revision });
    expect(updated).toMatchObject({ committed: true });
    expect((await kv.range({ start: key })).items).toMatchObject([
      { createRevision: created.revision, modRevision: updated.revision },
    ]);
    expect((await kv.range({ start: guardKey })).items).toMatchObject([
      { value: bytes("guard"), modRevision: revision },
    ]);
  });

  test("a put whose guard holds can still fail because of its own key", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey);
    const taken = await create(kv, key, "one");
    expect(await guarded(kv, key, { key: guardKey, revision })).toMatchObject({
      committed: false,
      lostGuard: undefined,
      current: { value: bytes("one"), modRevision: taken },
    });
  });

  test("a put or delete without a guard reports no lost guard", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key } = keysOf(context);
    await create(kv, key);
    const lost = { committed: false, lostGuard: undefined };
    expect(await kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: 0 })).toMatchObject(lost);
    expect(await kv.commit({ kind: "delete", key, expectedRevision: 0 })).toMatchObject(lost);
  });

  test("a guard with revision 0 holds as long as its key is absent", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const absent = { key: guardKey, revision: 0 };
    expect(await guarded(kv, key, absent)).toMatchObject({ committed: true });
    const revision = await create(kv, guardKey);
    expect(await guarded(kv, `${key}-2`, absent)).toMatchObject({ committed: false, lostGuard: guardKey });
    await remove(kv, guardKey, revision);
    expect(await guarded(kv, `${key}-3`, absent)).toMatchObject({ committed: true });
  });

  test("a guard may be on the key that the put writes", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key } = keysOf(context);
    const created = await guarded(kv, key, { key, revision: 0 }, { value: "one" });
    expect(created).toMatchObject({ committed: true });
    const expected = { expectedRevision: created.revision };
    expect(await guarded(kv, key, { key, revision: 0 }, expected)).toMatchObject({
      committed: false,
      lostGuard: key,
      current: { value: bytes("one"), modRevision: created.revision },
    });
    expect(await guarded(kv, key, { key, revision: created.revision }, expected)).toMatchObject({ committed: true });
  });
}

function lossTests(context: KvSuiteContext): void {
  test("a put whose guard's key has changed fails and returns the current state of the key to be written", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey);
    const created = await create(kv, key, "one");
    await put(kv, { key: guardKey, value: "changed", expectedRevision: revision });
    const current = { key, value: bytes("one"), createRevision: created, modRevision: created };
    const result = await guarded(kv, key, { key: guardKey, revision }, { expectedRevision: created });
    expect(result).toMatchObject({ committed: false, lostGuard: guardKey, current });
    expect((await kv.range({ start: key })).items).toEqual([current]);
  });

  test("a put whose guard's key is deleted is not committed", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey);
    const deleted = await remove(kv, guardKey, revision);
    const lost = { committed: false, lostGuard: guardKey, current: undefined };
    for (const known of [revision, deleted])
      expect(await guarded(kv, key, { key: guardKey, revision: known })).toMatchObject(lost);
    await create(kv, guardKey);
    expect(await guarded(kv, key, { key: guardKey, revision })).toMatchObject(lost);
    expect((await kv.range({ start: key })).count).toBe(0);
  });

  test("a put whose guard's key was deleted because its lease was revoked is not committed", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const lease = await kv.leaseGrant(context.capabilities.leaseSeconds * 60);
    const revision = await put(kv, { key: guardKey, value: "guard", expectedRevision: 0, lease });
    await kv.leaseRevoke(lease);
    expect(await guarded(kv, key, { key: guardKey, revision })).toMatchObject({
      committed: false,
      lostGuard: guardKey,
    });
  });

  test("a lost guard is reported even if the key to be written does not have the expected revision either", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const taken = await create(kv, key, "one");
    const lost = { committed: false, lostGuard: guardKey };
    const guard = { key: guardKey, revision: taken };
    expect(await guarded(kv, key, guard)).toMatchObject({
      ...lost,
      current: { value: bytes("one"), modRevision: taken },
    });
    expect(await guarded(kv, `${key}-2`, guard, { expectedRevision: taken })).toMatchObject({
      ...lost,
      current: undefined,
    });
  });
}

function severalTests(context: KvSuiteContext): void {
  async function prepare(kv: Kv): Promise<{ key: string; held: [Guard, Guard]; lost: [Guard, Guard] }> {
    const { prefix, key } = keysOf(context);
    const hold = async (name: string): Promise<Guard> => ({
      key: prefix + name,
      revision: await create(kv, prefix + name),
    });
    const lose = async (name: string): Promise<Guard> => {
      const guard = await hold(name);
      await put(kv, { key: guard.key, value: "changed", expectedRevision: guard.revision });
      return guard;
    };
    return { key, held: [await hold("h1"), await hold("h2")], lost: [await lose("l1"), await lose("l2")] };
  }

  test("a put with several guards is committed when all of them hold", async () => {
    await using fixture = await context.open();
    const { key, held } = await prepare(fixture.kv);
    const guards = [...held, { key: `${key}-absent`, revision: 0 }, { key, revision: 0 }];
    const change = { kind: "put", key, value: bytes("x"), expectedRevision: 0, guards } as const;
    expect(guards).toHaveLength(GUARDS_MAX);
    expect(await fixture.kv.commit(change)).toMatchObject({ committed: true });
  });

  test("if several guards are lost, the first of them is reported", async () => {
    await using fixture = await context.open();
    const {
      key,
      held: [h1, h2],
      lost: [l1, l2],
    } = await prepare(fixture.kv);
    const cases: readonly [Guard[], Guard][] = [
      [[l1, h1], l1],
      [[h1, l1], l1],
      [[h1, l2, h2], l2],
      [[l1, l2], l1],
      [[l2, l1], l2],
      [[h1, h2, l2, l1], l2],
    ];
    for (const [guards, { key: lostGuard }] of cases) {
      const change = { kind: "put", key, value: bytes("x"), expectedRevision: 0, guards } as const;
      expect(await fixture.kv.commit(change)).toMatchObject({ committed: false, lostGuard, current: undefined });
    }
    expect((await fixture.kv.range({ start: key })).count).toBe(0);
  });

  test("a put with an empty list of guards behaves like a put without guards", async () => {
    await using fixture = await context.open();
    const { key } = keysOf(context);
    const change = { kind: "put", key, value: bytes("x"), expectedRevision: 0, guards: [] } as const;
    expect(await fixture.kv.commit(change)).toMatchObject({ committed: true });
    expect(await fixture.kv.commit(change)).toMatchObject({ committed: false, lostGuard: undefined });
  });

  test("a put with too many guards is rejected, and nothing is written", async () => {
    await using fixture = await context.open();
    const { key } = keysOf(context);
    const guards = Array.from({ length: GUARDS_MAX + 1 }, (_, index) => ({ key: `${key}-${index}`, revision: 0 }));
    const commit = async (): Promise<CommitResult> =>
      fixture.kv.commit({ kind: "put", key, value: bytes("x"), expectedRevision: 0, guards });
    await expect(commit()).rejects.toThrow();
    expect((await fixture.kv.range({ start: key })).count).toBe(0);
  });
}

function deleteTests(context: KvSuiteContext): void {
  const guardedDelete = (kv: Kv, key: string, expectedRevision: number, guard: Guard): Promise<CommitResult> =>
    kv.commit({ kind: "delete", key, expectedRevision, guards: [guard] });

  test("a delete whose guard holds is committed, and does not change the guard's key", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey);
    const created = await create(kv, key);
    const result = await guardedDelete(kv, key, created, { key: guardKey, revision });
    expect(result).toMatchObject({ committed: true });
    expect((await kv.range({ start: key })).count).toBe(0);
    expect((await kv.range({ start: guardKey })).items).toMatchObject([{ modRevision: revision }]);
  });

  test("a delete whose guard's key has changed or is gone deletes nothing and names the guard", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const revision = await create(kv, guardKey);
    const created = await create(kv, key, "kept");
    const lost = { committed: false, lostGuard: guardKey, current: { value: bytes("kept"), modRevision: created } };
    const changed = await put(kv, { key: guardKey, value: "changed", expectedRevision: revision });
    expect(await guardedDelete(kv, key, created, { key: guardKey, revision })).toMatchObject(lost);
    await remove(kv, guardKey, changed);
    expect(await guardedDelete(kv, key, created, { key: guardKey, revision: changed })).toMatchObject(lost);
    expect((await kv.range({ start: key })).items).toMatchObject([{ modRevision: created }]);
    expect(await guardedDelete(kv, key, created, { key: guardKey, revision: 0 })).toMatchObject({ committed: true });
  });

  test("a delete of an absent key or of another revision reports no lost guard if its guard holds", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const guard = { key: guardKey, revision: await create(kv, guardKey) };
    const lost = { committed: false, lostGuard: undefined };
    expect(await guardedDelete(kv, key, 0, guard)).toMatchObject({ ...lost, current: undefined });
    const created = await create(kv, key);
    expect(await guardedDelete(kv, key, 0, guard)).toMatchObject({ ...lost, current: { modRevision: created } });
  });

  test("a delete with too many guards is rejected, and nothing is deleted", async () => {
    await using fixture = await context.open();
    const { key } = keysOf(context);
    const expectedRevision = await create(fixture.kv, key);
    const guards = Array.from({ length: GUARDS_MAX + 1 }, (_, index) => ({ key: `${key}-${index}`, revision: 0 }));
    const commit = async (): Promise<CommitResult> =>
      fixture.kv.commit({ kind: "delete", key, expectedRevision, guards });
    await expect(commit()).rejects.toThrow();
    expect((await fixture.kv.range({ start: key })).count).toBe(1);
  });
}

function tracelessTests(context: KvSuiteContext): void {
  test.runIf(context.capabilities.isExclusive)("a put whose guard is lost does not increase the revision", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { key, guardKey } = keysOf(context);
    const created = await create(kv, guardKey);
    expect((await guarded(kv, key, { key: guardKey, revision: 0 })).revision).toBe(created);
    expect(await kv.currentRevision()).toBe(created);
    expect(await create(kv, key)).toBe(created + 1);
  });

  test("watchers do not see a put whose guard is lost", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    const { prefix, key, guardKey } = keysOf(context);
    const created = await create(kv, guardKey);
    const recorder = Recorder.start(kv, { prefix, fromRevision: created + 1 });
    await guarded(kv, key, { key: guardKey, revision: 0 });
    const next = await guarded(kv, `${key}-2`, { key: guardKey, revision: created });
    const seen = (await recorder.first(1)).map((event) => describeEvent(event, prefix));
    expect(seen).toEqual([`put a-2@${next.revision}`]);
  });
}

/** Steps run concurrently; only "pause" waits for all steps before it. */
type Step = "change the guard's key" | "delete the guard's key" | "write" | "pause";

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant("write" as const) },
    { weight: 3, arbitrary: fc.constant("change the guard's key" as const) },
    { weight: 1, arbitrary: fc.constant("delete the guard's key" as const) },
    { weight: 1, arbitrary: fc.constant("pause" as const) },
  ),
  { minLength: 10, maxLength: 60, size: "max" },
);

function raceTests(context: KvSuiteContext): void {
  test("a guarded put that races a change of the guard's key is committed only before that change", async () => {
    await using fixture = await context.open();
    const { kv } = fixture;
    for (const isGuardedFirst of [true, false]) {
      const { key, guardKey } = keysOf(context);
      const revision = await create(kv, guardKey);
      const write = (): Promise<CommitResult> => guarded(kv, key, { key: guardKey, revision });
      const change = (): Promise<number> => put(kv, { key: guardKey, value: "changed", expectedRevision: revision });
      const early = isGuardedFirst ? write() : undefined;
      const [changed, result] = await Promise.all([change(), early ?? write()]);
      if (result.committed) expect(result.revision).toBeLessThan(changed);
      else expect(result).toMatchObject({ lostGuard: guardKey, current: undefined });
    }
  });

  test("a guarded put is committed if and only if its guard holds at the revision of the commit", async () => {
    await using fixture = await context.open();
    await fc.assert(
      fc.asyncProperty(steps, (history) => expectGuardsKept(fixture.kv, history, keysOf(context))),
      { numRuns: 15 },
    );
  });
}

async function expectGuardsKept(kv: Kv, history: readonly Step[], { prefix, guardKey }: Keys): Promise<void> {
  /** The revision of the guard's key after each of its changes; 0 after its deletion. */
  const changes: { readonly at: number; readonly revision: number }[] = [];
  const writes: { readonly known: number; readonly result: CommitResult }[] = [];
  const running: Promise<void>[] = [];
  let known = 0;
  const change = async (kind: "put" | "delete"): Promise<void> => {
    const common = { key: guardKey, expectedRevision: known };
    const result = await kv.commit(kind === "put" ? { kind, value: bytes("guard"), ...common } : { kind, ...common });
    if (!result.committed) return;
    changes.push({ at: result.revision, revision: kind === "put" ? result.revision : 0 });
  };
  const write = async (key: string, revision: number): Promise<void> => {
    const result = await guarded(kv, key, { key: guardKey, revision });
    writes.push({ known: revision, result });
  };
  for (const [index, step] of history.entries()) {
    if (step === "pause") {
      await Promise.all(running);
      known = (await kv.range({ start: guardKey })).items[0]?.modRevision ?? 0;
    } else if (step === "write") running.push(write(`${prefix}${index}`, known));
    else running.push(change(step === "delete the guard's key" ? "delete" : "put"));
  }
  await Promise.all(running);
  const guardAt = (revision: number): number =>
    changes.reduce((last, one) => (one.at <= revision && one.at > last.at ? one : last), { at: 0, revision: 0 })
      .revision;
  for (const { known: revision, result } of writes) {
    expect(guardAt(result.revision) === revision).toBe(result.committed);
    if (!result.committed) expect(result).toMatchObject({ lostGuard: guardKey, current: undefined });
  }
}
