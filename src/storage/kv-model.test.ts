/**
 * Compares the SQLite store with the memory store: the same operations must return the same results and deliver the
 * same events.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Recorder } from "../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock, type ManualClock } from "../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryKv } from "./kv-memory/kv.ts";
import { openSqliteKv } from "./kv-sqlite/kv.ts";
import { StorageError, prefixEnd, type Change, type Guard, type Kv } from "./kv.ts";

const PREFIX = "/m/";
const UNGUARDED = { guess: 0, lease: undefined, guards: undefined };

/** `guess` selects the expected revision: 0 is the correct one, and any other number is subtracted from it. */
type Operation =
  | {
      kind: "put";
      key: string;
      value: string;
      guess: number;
      lease: number | undefined;
      guards: { key: string; guess: number }[] | undefined;
    }
  | { kind: "delete"; key: string; guess: number; guards: { key: string; guess: number }[] | undefined }
  | {
      kind: "range";
      start: string;
      end: string | undefined;
      behind: number | undefined;
      limit: number | undefined;
      countOnly: boolean;
    }
  | { kind: "watch"; behind: number; prefix: string }
  | { kind: "compact"; behind: number }
  | { kind: "grant" }
  | { kind: "revoke"; lease: number }
  | { kind: "advance"; ms: number };

const key = fc.constantFrom("a", "a/b", "a/bc", "a-b", "b", "c").map((name) => PREFIX + name);
const behind = fc.integer({ min: -2, max: 12 });
const guess = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -1, max: 3 }) },
);

const guards = fc.option(fc.array(fc.record({ key, guess }), { maxLength: 3 }), { nil: undefined, freq: 3 });

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      key,
      value: fc.string({ maxLength: 5 }),
      guess,
      lease: fc.option(fc.nat(2), { nil: undefined, freq: 3 }),
      guards,
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("delete" as const), key, guess, guards }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("range" as const),
      start: key,
      end: fc.option(
        fc.constantFrom("a/c", "b", "z").map((name) => PREFIX + name),
        { nil: undefined },
      ),
      behind: fc.option(behind, { nil: undefined }),
      limit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
      countOnly: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("watch" as const),
      behind,
      prefix: fc.constantFrom("/m/", "/m/a/", "/m/a/b"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const), behind }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("grant" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("revoke" as const), lease: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(1000, 4000, 10_000) }),
  },
);

class Subject {
  readonly #kv: Kv;
  readonly #clock: ManualClock;
  readonly #recorders: Recorder[] = [];
  readonly #leases: string[] = [];

  constructor(kv: Kv, clock: ManualClock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Returns the result of the operation, or the code, revision and message of its error. */
  async run(step: Operation): Promise<unknown> {
    try {
      return await this.#perform(step);
    } catch (thrown) {
      if (!(thrown instanceof StorageError)) throw thrown;
      return { code: thrown.code, revision: thrown.revision, message: thrown.message };
    }
  }

  /** Returns all events that the watches received, after all watches have caught up. */
  async events(): Promise<unknown> {
    // Commits several changes, because some watches start slightly in the future.
    let last: unknown;
    for (const value of ["one", "two", "three", "four"]) {
      last = await this.run({ kind: "put", key: `${PREFIX}a/bc`, value, ...UNGUARDED });
    }
    const { revision } = last as { revision: number };
    await Promise.all(
      this.#recorders.map((recorder) => Promise.race([recorder.through(revision), recorder.closing()])),
    );
    return {
      last,
      watches: this.#recorders.map((recorder) => ({
        events: recorder.all,
        closings: recorder.closings.map(({ code }) => code),
      })),
    };
  }

  async #perform(step: Operation): Promise<unknown> {
    const current = await this.#kv.currentRevision();
    switch (step.kind) {
      case "put":
      case "delete":
        return this.#kv.commit(await this.#toChange(step));
      case "range": {
        const { start, end, limit, countOnly } = step;
        const revision = step.behind === undefined ? undefined : Math.max(1, current - step.behind);
        return this.#kv.range({
          start,
          countOnly,
          ...(end !== undefined && { end }),
          ...(limit !== undefined && { limit }),
          ...(revision !== undefined && { revision }),
        });
      }
      case "watch":
        this.#recorders.push(
          Recorder.start(this.#kv, { prefix: step.prefix, fromRevision: Math.max(1, current - step.behind) }),
        );
        return;
      case "compact":
        return this.#kv.compact(Math.max(1, current - step.behind));
      case "grant":
        this.#leases.push(await this.#kv.leaseGrant(this.#leases.length * 2 + 1));
        return this.#leases;
      case "revoke":
        return this.#kv.leaseRevoke(this.#leases[step.lease] ?? "999");
      case "advance":
        this.#clock.advance(step.ms);
        // This call completes only after the keys of expired leases have been deleted.
        return this.#kv.commit({ kind: "delete", key: "/absent", expectedRevision: 0 });
    }
  }

  async #toChange(step: Operation & { kind: "put" | "delete" }): Promise<Change> {
    const expectedRevision = await this.#guessed(step);
    const guarded = step.guards && { guards: await Promise.all(step.guards.map((guard) => this.#guard(guard))) };
    if (step.kind === "delete") return { kind: "delete", key: step.key, expectedRevision, ...guarded };
    const lease = step.lease === undefined ? undefined : this.#leases[step.lease];
    return {
      kind: "put",
      key: step.key,
      value: Buffer.from(step.value),
      expectedRevision,
      ...(lease !== undefined && { lease }),
      ...guarded,
    };
  }

  async #guard(wanted: { key: string; guess: number }): Promise<Guard> {
    return { key: wanted.key, revision: await this.#guessed(wanted) };
  }

  async #guessed(wanted: { key: string; guess: number }): Promise<number> {
    const { items } = await this.#kv.range({ start: wanted.key });
    return Math.max(0, (items[0]?.modRevision ?? 0) - wanted.guess);
  }
}

async function compare(rounds: readonly (readonly Operation[])[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-model-"));
  const clocks = [createManualClock(), createManualClock()] as const;
  const memory = createMemoryKv({ clock: clocks[0] });
  const sqlite = await openSqliteKv({ directory, clock: clocks[1] });
  try {
    const model = new Subject(memory, clocks[0]);
    const subject = new Subject(sqlite, clocks[1]);
    for (const step of rounds.flat())
      expect({ step, result: await subject.run(step) }).toEqual({ step, result: await model.run(step) });
    expect(await subject.events()).toEqual(await model.events());
    const all = { start: PREFIX, end: prefixEnd(PREFIX) };
    expect(await sqlite.range(all)).toEqual(await memory.range(all));
  } finally {
    await Promise.all([sqlite.close(), memory.close()]);
    rmSync(directory, { recursive: true, force: true });
  }
}

test(
  "the SQLite store returns the same results and delivers the same events as the memory store for any operations",
  { timeout: 60_000 },
  async () => {
    const operations = fc.array(fc.array(operation, { minLength: 10, maxLength: 10 }), {
      minLength: 3,
      maxLength: 8,
      size: "max",
    });
    await fc.assert(fc.asyncProperty(operations, compare), { numRuns: 20 });
  },
);
