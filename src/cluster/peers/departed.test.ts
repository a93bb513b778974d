import { describe, expect, test } from "vitest";
import {
  createDepartedIndex,
  DepartedKeeper,
  goneServers,
  type Departures,
  type KeeperInput,
  type KeeperWrite,
} from "./departed.ts";
import {
  decodeServedRecord,
  encodeServedRecord,
  servedRecordKey,
  type ServedRecord,
  type StoredServedRecord,
} from "./served-record.ts";

const ROOT = "/registry/";
const MINUTE_MS = 60_000;
const WIDGETS = { group: "example.com", version: "v1", resource: "widgets", subresource: "" };

function recordOf(serverId: string, run: string, parts: Partial<ServedRecord> = {}): ServedRecord {
  return {
    serverId,
    incarnation: run,
    release: "1.36",
    servedAt: "2026-01-01T00:00:00.000Z",
    departedAt: undefined,
    resources: new Map([["example.com/v1", ["widgets", "widgets/scale"]]]),
    ...parts,
  };
}

describe("a departed resource", () => {
  const noticedAt = "2026-01-01T12:00:00.000Z";
  const find = (records: readonly ServedRecord[], live: Record<string, string | undefined> = {}) =>
    createDepartedIndex({ records, live: new Map(Object.entries(live)), departures: noticedAtNoon() });

  test("is found by resource and subresource, with the server that served it last and the time", () => {
    const departedAt = "2026-01-01T11:00:00.000Z";
    const index = find([recordOf("b", "1", { departedAt })]);
    expect(index.find(WIDGETS)).toEqual({ serverId: "b", release: "1.36", departedAt });
    expect(index.find({ ...WIDGETS, subresource: "scale" })?.serverId).toBe("b");
    expect(index.find({ ...WIDGETS, subresource: "status" })).toBeUndefined();
    expect(index.find({ ...WIDGETS, version: "v2" })).toBeUndefined();
    expect(index.find({ ...WIDGETS, group: "" })).toBeUndefined();
  });

  test("is attributed to the server whose departure was noted last", () => {
    const earlier = recordOf("b", "1", { departedAt: "2026-01-01T10:00:00.000Z" });
    const later = recordOf("c", "1", { departedAt: "2026-01-01T11:00:00.000Z" });
    expect(find([earlier, later]).find(WIDGETS)?.serverId).toBe("c");
    expect(find([later, earlier]).find(WIDGETS)?.serverId).toBe("c");
  });

  test("is attributed to the server that departed, not to one that has written its record and may be joining", () => {
    const departed = recordOf("b", "1", { departedAt: "2026-01-01T10:00:00.000Z" });
    const joining = recordOf("c", "1");
    expect(find([departed, joining]).find(WIDGETS)?.serverId).toBe("b");
    expect(find([joining, departed]).find(WIDGETS)?.serverId).toBe("b");
    expect(find([joining]).find(WIDGETS)?.serverId).toBe("c");
  });

  test.each([
    { what: "whose run continues", live: { b: "1" }, found: undefined },
    { what: "whose run is not known yet", live: { b: undefined }, found: undefined },
    { what: "that restarted", live: { b: "2" }, found: noticedAt },
    { what: "whose departure is not noted yet", live: {}, found: noticedAt },
  ])("of a server $what has the departure time $found", ({ live, found }) => {
    expect(find([recordOf("b", "1")], live).find(WIDGETS)?.departedAt).toBe(found);
  });

  test("is not reported if the server is live, even if its record has a departure time", () => {
    const noted = recordOf("b", "1", { departedAt: noticedAt });
    expect(find([noted], { b: "1" }).find(WIDGETS)).toBeUndefined();
  });
});

describe("a gone server", () => {
  const noticedAt = "2026-01-01T12:00:00.000Z";
  const departedAt = "2026-01-01T11:00:00.000Z";
  const gone = (records: readonly ServedRecord[], live: Record<string, string | undefined> = {}, seen = false) =>
    goneServers({ records, live: new Map(Object.entries(live)), departures: noticedAtNoon(seen) });

  test("is listed once, with its last departure and whether it was shut down", () => {
    const records = [
      recordOf("b", "1", { departedAt }),
      recordOf("b", "2", { departedAt: noticedAt, isGraceful: true }),
      recordOf("a", "1", { departedAt, release: undefined }),
    ];
    expect(gone(records)).toEqual([
      { serverId: "a", release: undefined, departedAt, isGraceful: false },
      { serverId: "b", release: "1.36", departedAt: noticedAt, isGraceful: true },
    ]);
  });

  test("is listed before its departure is noted, unless it has not been live yet", () => {
    expect(gone([recordOf("b", "1")], {}, true)).toMatchObject([{ serverId: "b", departedAt: noticedAt }]);
    expect(gone([recordOf("b", "1", { isGraceful: true })])).toMatchObject([{ serverId: "b", isGraceful: true }]);
    expect(gone([recordOf("b", "1")], {}, false)).toEqual([]);
  });

  test.each([["1"], ["2"], [undefined]])("is not listed while the server is live with the run %s", (run) => {
    expect(gone([recordOf("b", "1", { departedAt })], { b: run }, true)).toEqual([]);
  });
});

/** The departures as a server knows them that notices at noon, and has or has not seen the runs live. */
function noticedAtNoon(hasSeenLive = false): Departures {
  return {
    departedAt: ({ departedAt }) => departedAt ?? "2026-01-01T12:00:00.000Z",
    hasEnded: ({ departedAt, isGraceful }) => departedAt !== undefined || isGraceful === true || hasSeenLive,
  };
}

/** A store with compare-and-swap. Several keepers share it, and each has its own clock. It ignores TTLs. */
class Store {
  readonly entries = new Map<string, { readonly value: Buffer; readonly revision: number }>();
  revision = 0;

  write(write: KeeperWrite): boolean {
    if ((this.entries.get(write.key)?.revision ?? 0) !== write.expectedRevision) return false;
    this.revision++;
    if (write.kind === "put") this.entries.set(write.key, { value: write.value, revision: this.revision });
    else this.entries.delete(write.key);
    return true;
  }

  records(): StoredServedRecord[] {
    return [...this.entries].map(([key, { value, revision }]) => ({
      key,
      revision,
      record: decodeServedRecord(ROOT, { key, value: JSON.parse(value.toString()) as unknown })!,
    }));
  }

  departedAt(serverId: string, run: string): string | undefined {
    return this.records().find(({ key }) => key === keyOf(serverId, run))?.record.departedAt;
  }

  has(serverId: string, run: string): boolean {
    return this.entries.has(keyOf(serverId, run));
  }
}

function keyOf(serverId: string, run: string): string {
  return servedRecordKey(ROOT, { serverId, incarnation: run });
}

class Server {
  readonly store: Store;
  readonly own: ServedRecord;
  readonly keeper: DepartedKeeper;
  nowMs = 0;
  live: Record<string, string | undefined>;
  unrecorded: readonly ServedRecord[] = [];
  isWatchAlive = true;

  constructor(store: Store, own: ServedRecord, live: Record<string, string | undefined> = {}) {
    this.store = store;
    this.own = own;
    this.live = { [own.serverId]: own.incarnation, ...live };
    const monotonic = (): number => this.nowMs;
    const now = (): number => Date.UTC(2026, 0, 1, 12) + this.nowMs;
    this.keeper = new DepartedKeeper({ storageRoot: ROOT, now, monotonic });
  }

  plan(afterMs = 0, records = this.store.records()): readonly KeeperWrite[] {
    this.nowMs += afterMs;
    const { own, unrecorded, isWatchAlive } = this;
    const input: KeeperInput = { records, own, unrecorded, isWatchAlive, live: new Map(Object.entries(this.live)) };
    return this.keeper.step(input);
  }

  step(afterMs = 0): number {
    return this.plan(afterMs).filter((write) => this.store.write(write)).length;
  }
}

function pair(): { store: Store; a: Server; b: Server } {
  const store = new Store();
  const a = new Server(store, recordOf("a", "1"), { b: "1" });
  const b = new Server(store, recordOf("b", "1"), { a: "1" });
  a.step();
  b.step();
  a.step();
  return { store, a, b };
}

describe("the keeper", () => {
  test("writes the record of its server once, and nothing more while nothing changes", () => {
    const { store, a, b } = pair();
    expect(store.entries.size).toBe(2);
    expect([a.step(MINUTE_MS), b.step(MINUTE_MS), a.step(60 * MINUTE_MS)]).toEqual([0, 0, 0]);
  });

  test("notes the departure of a server, and deletes its record after the grace period", () => {
    const { store, a } = pair();
    delete a.live["b"];
    expect(a.step(1_000)).toBe(1);
    expect(store.departedAt("b", "1")).toBe("2026-01-01T12:00:01.000Z");
    expect(a.step()).toBe(0);
    expect(a.step(10 * MINUTE_MS - 1)).toBe(0);
    expect(store.has("b", "1")).toBe(true);
    expect(a.step(1)).toBe(1);
    expect(store.has("b", "1")).toBe(false);
    expect(store.has("a", "1")).toBe(true);
  });

  test("notes the departure of the previous run when a server restarts with the same ID", () => {
    const { store, a } = pair();
    a.live["b"] = "2";
    store.write({ kind: "put", key: keyOf("b", "2"), value: bytes(recordOf("b", "2")), expectedRevision: 0 });
    expect(a.step(1_000)).toBe(1);
    expect(store.departedAt("b", "1")).toBeDefined();
    expect(store.departedAt("b", "2")).toBeUndefined();
  });

  test("keeps one record of a server that restarts repeatedly within the grace period", () => {
    const { store, a } = pair();
    for (let run = 2; run <= 20; run++) {
      const b = new Server(store, recordOf("b", String(run)), { a: "1" });
      b.step();
      a.live["b"] = String(run);
      a.step(20_000);
      a.step(1_000);
      a.step(1_000);
    }
    const departed = store.records().filter(({ record }) => record.departedAt !== undefined);
    expect(departed.map(({ record }) => record.incarnation)).toEqual(["19"]);
  });

  test("keeps, of several equal records, the one that was noted last in the store, whatever the clocks of the servers say", () => {
    const { store, a } = pair();
    const note = (run: string, departedAt: string): void => {
      const value = encodeServedRecord(recordOf("b", run, { departedAt }))!;
      store.write({
        kind: "put",
        key: keyOf("b", run),
        value,
        expectedRevision: store.entries.get(keyOf("b", run))?.revision ?? 0,
      });
    };
    a.live["b"] = "3";
    note("1", "2027-01-01T00:00:00.000Z");
    note("2", "2026-01-01T00:00:00.000Z");
    a.step(1_000);
    a.step(1_000);
    expect([store.has("b", "1"), store.has("b", "2")]).toEqual([false, true]);
  });

  test("keeps the records of several servers that served the same resources, up to a limit", () => {
    const { store, a } = pair();
    const departedAt = "2026-01-01T00:00:00.000Z";
    for (let number = 1; number <= 20; number++) {
      const value = encodeServedRecord(recordOf(`s${number}`, "1", { departedAt }))!;
      store.write({ kind: "put", key: keyOf(`s${number}`, "1"), value, expectedRevision: 0 });
    }
    a.step(1_000);
    a.step(1_000);
    const kept = store.records().filter(({ record }) => record.departedAt !== undefined);
    expect(kept.map(({ record }) => record.serverId)).toEqual(Array.from({ length: 16 }, (_, at) => `s${at + 5}`));
  });

  test("keeps the records of two runs that served different resources", () => {
    const { store, a } = pair();
    a.live["b"] = "2";
    new Server(store, recordOf("b", "2", { resources: new Map([["example.com/v1", ["gadgets"]]]) })).step();
    a.step(1_000);
    delete a.live["b"];
    a.step(1_000);
    a.step(1_000);
    a.step(1_000);
    expect([store.departedAt("b", "1"), store.departedAt("b", "2")]).not.toContain(undefined);
  });

  test("notes no departure and counts no time while the store watch is down", () => {
    const { store, a } = pair();
    delete a.live["b"];
    a.isWatchAlive = false;
    expect(a.step(MINUTE_MS)).toBe(0);
    a.isWatchAlive = true;
    expect(a.step()).toBe(1);
    a.step();
    a.isWatchAlive = false;
    a.step(60 * MINUTE_MS);
    a.isWatchAlive = true;
    expect(a.step(60 * MINUTE_MS)).toBe(0);
    expect(a.step(10 * MINUTE_MS)).toBe(1);
    expect(store.has("b", "1")).toBe(false);
  });

  test("waits for the lease of a server that has written its record first", () => {
    const { store, a } = pair();
    store.write({ kind: "put", key: keyOf("c", "1"), value: bytes(recordOf("c", "1")), expectedRevision: 0 });
    expect(a.step()).toBe(0);
    expect(a.step(MINUTE_MS - 1)).toBe(0);
    a.live["c"] = "1";
    expect(a.step(10 * MINUTE_MS)).toBe(0);
    expect(store.departedAt("c", "1")).toBeUndefined();
  });

  test("notes the departure of a server that wrote a record and never a lease", () => {
    const { store, a } = pair();
    store.write({ kind: "put", key: keyOf("c", "1"), value: bytes(recordOf("c", "1")), expectedRevision: 0 });
    a.step();
    expect(a.step(MINUTE_MS)).toBe(1);
    expect(store.departedAt("c", "1")).toBeDefined();
  });

  test("lets the store delete the record of a departed run after the grace period, and never that of a live run", () => {
    const { store, a } = pair();
    const own = new Server(store, recordOf("c", "1"), { a: "1", b: "1" }).plan();
    delete a.live["b"];
    const ttls = [...own, ...a.plan(1_000)].map((write) => (write.kind === "put" ? write.ttlSeconds : "delete"));
    expect(ttls).toEqual([undefined, 600]);
  });

  test("on a server that starts later keeps the departure time of a note, and deletes a record that has no TTL", () => {
    const { store, a } = pair();
    delete a.live["b"];
    a.step(1_000);
    const noted = store.departedAt("b", "1");
    const c = new Server(store, recordOf("c", "1"), { a: "1" });
    c.step();
    c.step(10 * MINUTE_MS - 1);
    expect(store.departedAt("b", "1")).toBe(noted);
    expect(c.step(1)).toBe(1);
    expect(store.has("b", "1")).toBe(false);
  });

  test("reports the time at which it noticed a departure, and notes this time in the store", () => {
    const { store, a } = pair();
    const record = (): ServedRecord => store.records().find(({ key }) => key === keyOf("b", "1"))!.record;
    delete a.live["b"];
    const noticedAt = a.keeper.departedAt(record());
    a.nowMs += 400;
    expect(a.keeper.departedAt(record())).toBe(noticedAt);
    expect(a.keeper.hasEnded(record())).toBe(true);
    a.step(600);
    expect([store.departedAt("b", "1"), a.keeper.departedAt(record())]).toEqual([noticedAt, noticedAt]);
    a.live["b"] = "1";
    a.step(MINUTE_MS);
    delete a.live["b"];
    expect(a.keeper.departedAt(record()) > noticedAt).toBe(true);
  });

  test("ignores the note of a departure while the server is live, and notes the departure again when it is real", () => {
    const { store, a } = pair();
    delete a.live["b"];
    a.step(1_000);
    const falseNote = store.departedAt("b", "1");
    a.live["b"] = "1";
    expect(a.step(60 * MINUTE_MS)).toBe(0);
    delete a.live["b"];
    expect(a.step(1_000)).toBe(1);
    expect(store.departedAt("b", "1")! > falseNote!).toBe(true);
    a.step();
    expect(a.step(10 * MINUTE_MS - 1)).toBe(0);
    expect(a.step(1)).toBe(1);
  });

  test("removes the note of a departure from the record of its own server, so that servers that start later do not believe it", () => {
    const { store, a, b } = pair();
    delete a.live["b"];
    a.step(1_000);
    a.live["b"] = "1";
    expect([b.step(1_000), b.step(1_000), a.step(1_000)]).toEqual([1, 0, 0]);
    expect(store.departedAt("b", "1")).toBeUndefined();
    delete b.live["a"];
    b.step(1_000);
    b.step(1_000);
    // Server a departed earlier and served the same resources. Its record is deleted first, and the record of the first
    // run of b stays.
    const next = new Server(store, recordOf("b", "2"));
    next.step();
    next.step(10 * MINUTE_MS - 1);
    expect([store.has("a", "1"), store.has("b", "1")]).toEqual([true, true]);
    next.step(1);
    next.step(1);
    expect([store.has("a", "1"), store.has("b", "1")]).toEqual([false, true]);
  });

  test("restores the record of its server after peers have deleted it", () => {
    const { store, a, b } = pair();
    delete a.live["b"];
    a.step();
    a.step();
    a.step(10 * MINUTE_MS);
    expect(store.has("b", "1")).toBe(false);
    expect(b.step(10 * MINUTE_MS)).toBe(1);
    expect(store.departedAt("b", "1")).toBeUndefined();
  });

  test("does not treat its own server as departed, even if there is no lease of it", () => {
    const { store, a } = pair();
    delete a.live["a"];
    expect(a.step(60 * MINUTE_MS)).toBe(0);
    expect(store.departedAt("a", "1")).toBeUndefined();
  });
});

describe("several keepers", () => {
  test("note a departure once and delete the record once, although all of them plan both", () => {
    const { store, a } = pair();
    const c = new Server(store, recordOf("c", "1"), { a: "1", b: "1" });
    c.step();
    c.step();
    a.live["c"] = "1";
    a.step();
    const together = (afterMs: number): number => {
      const [first, second] = [a.plan(afterMs), c.plan(afterMs)];
      expect(first.length).toBe(second.length);
      return [...first, ...second].filter((write) => store.write(write)).length;
    };
    delete a.live["b"];
    delete c.live["b"];
    expect(together(1_000)).toBe(1);
    expect(together(0)).toBe(0);
    expect(together(10 * MINUTE_MS)).toBe(1);
    expect([...store.entries.keys()].toSorted()).toEqual([keyOf("a", "1"), keyOf("c", "1")]);
    expect(together(MINUTE_MS)).toBe(0);
  });

  test("do not delete a record that changed since they read it", () => {
    const { store, a } = pair();
    delete a.live["b"];
    a.step();
    a.step();
    const late = a.plan(10 * MINUTE_MS);
    expect(late).toHaveLength(1);
    const { revision } = store.entries.get(keyOf("b", "1"))!;
    store.write({ kind: "put", key: keyOf("b", "1"), value: bytes(recordOf("b", "1")), expectedRevision: revision });
    expect(late.filter((write) => store.write(write))).toEqual([]);
  });
});

describe("a peer that writes no record", () => {
  const kube = recordOf("kube", "kube_1", { release: undefined });

  test("is recorded as departed, once, by the servers that noticed its departure", () => {
    const { store, a, b } = pair();
    for (const server of [a, b]) {
      server.live["kube"] = "kube_1";
      server.unrecorded = [kube];
      expect(server.step()).toBe(0);
      delete server.live["kube"];
      server.unrecorded = [];
    }
    const plans = [...a.plan(1_000), ...b.plan(1_000)];
    expect(plans.filter((write) => store.write(write))).toHaveLength(1);
    expect(store.departedAt("kube", "kube_1")).toBe("2026-01-01T12:00:01.000Z");
    expect([a.step(), b.step()]).toEqual([0, 0]);
    expect(a.step(10 * MINUTE_MS)).toBe(1);
    expect([b.step(20 * MINUTE_MS), a.step(20 * MINUTE_MS), b.step()]).toEqual([0, 0, 0]);
    expect(store.has("kube", "kube_1")).toBe(false);
  });

  test("has departed at the time at which this server noticed it, before and after the record is stored", () => {
    const { store, a } = pair();
    a.live["kube"] = "kube_1";
    a.unrecorded = [kube];
    a.step();
    delete a.live["kube"];
    a.unrecorded = [];
    const noticedAt = a.keeper.departedAt(kube);
    expect(a.keeper.hasEnded(kube)).toBe(true);
    a.plan(1_000);
    a.step(1_000);
    expect(store.departedAt("kube", "kube_1")).toBe(noticedAt);
  });

  test("is recorded with the resources that it served last, also when it restarts with fewer resources", () => {
    const { store, a } = pair();
    a.live["kube"] = "kube_1";
    a.unrecorded = [recordOf("kube", "kube_1", { resources: new Map() })];
    a.step();
    a.unrecorded = [kube];
    a.step();
    a.live["kube"] = "kube_2";
    a.unrecorded = [recordOf("kube", "kube_2", { resources: new Map() })];
    expect(a.step()).toBe(1);
    expect(store.records().find(({ key }) => key === keyOf("kube", "kube_1"))?.record.resources).toEqual(
      kube.resources,
    );
    expect(store.has("kube", "kube_2")).toBe(false);
  });

  test("is recorded even if the first writes fail", () => {
    const { a } = pair();
    a.live["kube"] = "kube_1";
    a.unrecorded = [kube];
    a.plan();
    delete a.live["kube"];
    a.unrecorded = [];
    expect(a.plan()).toHaveLength(1);
    expect(a.plan(1_000)).toHaveLength(1);
    expect(a.step()).toBe(1);
    expect(a.step()).toBe(0);
  });

  test("is not recorded if the ID of its run cannot be part of a key", () => {
    const { a } = pair();
    const odd = recordOf("kube", "../../pods");
    a.live["kube"] = odd.incarnation;
    a.unrecorded = [odd];
    a.plan();
    delete a.live["kube"];
    a.unrecorded = [];
    expect([a.plan(), a.plan(1_000)]).toEqual([[], []]);
  });
});

function bytes(record: ServedRecord): Buffer {
  return encodeServedRecord(record)!;
}
