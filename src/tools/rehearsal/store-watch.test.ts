import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import type { Commit } from "../simulator/history.ts";
import { Host } from "../simulator/host.ts";
import { World } from "../simulator/world.ts";
import { Ledger, type LedgerEntry } from "./ledger.ts";
import { Recorder } from "./recorder.ts";
import { StoreWatch } from "./store-watch.ts";

/** A store whose commits the test makes. */
class StoreStub {
  readonly objects = new Map<string, JsonObject>();
  readonly ledger = new Ledger();
  readonly recorder: Recorder;
  readonly watch: StoreWatch;
  readonly world = new World({ seed: 1 });
  #listener: (commit: Commit) => void = () => {};

  constructor() {
    const { clock } = this.world;
    const truth = { ledger: this.ledger, serverRuns: [], noFalse404: {} };
    this.recorder = new Recorder({ clock, truth, durationMs: 60_000, serverIds: [] });
    this.recorder.start();
    const history = {
      onCommit: (listener: (commit: Commit) => void) => (this.#listener = listener),
      get: (key: string) => this.objects.get(key),
      under: (prefix: string) => [...this.objects].filter(([key]) => key.startsWith(prefix)),
    };
    this.watch = new StoreWatch({
      history,
      ledger: this.ledger,
      recorder: this.recorder,
      serverRuns: [
        { serverId: "old", release: "1.28" },
        { serverId: "new", release: "1.36" },
      ],
      isAgreed: false,
    });
  }

  commit(key: string, after: JsonObject | undefined, serverId?: string): void {
    const before = this.objects.get(key);
    if (after === undefined) this.objects.delete(key);
    else this.objects.set(key, after);
    const host = new Host({ name: "h", clock: this.world.clock, random: this.world.randomFor("h") });
    const sending = serverId === undefined ? undefined : { serverId, host, sentAtMs: 0 };
    this.#listener({ revision: 1, atMs: 0, sending, key, before, after });
  }

  made(resource: string, name: string, owner?: LedgerEntry): LedgerEntry {
    const namespace = resource === "namespaces" ? "" : "n";
    const entry = this.ledger.begin({ group: "", resource, namespace, name }, { storagePrefix: resource, owner });
    this.ledger.acknowledge(entry, { uid: name, revision: 1, atMs: 0 });
    this.commit(entry.storeKey, { metadata: { name, namespace } });
    return entry;
  }

  get wrong(): string[] {
    return this.recorder.report().firstWrong.map(({ kind }) => kind);
  }
}

describe("the store watch", () => {
  test("reports an update that removes a field which the release of the server does not know", () => {
    const store = new StoreStub();
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: { managedBy: "a/b" } };
    store.commit("jobs/n/j", job, "new");
    store.commit("jobs/n/j", { ...job, metadata: { name: "j", labels: { a: "b" } } }, "old");
    expect(store.wrong).toEqual([]);
    store.commit("jobs/n/j", { ...job, spec: {} }, "old");
    expect(store.wrong).toEqual(["field-dropped"]);
  });

  test("accepts an update that removes a field which the release of the server knows", () => {
    const store = new StoreStub();
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec: { managedBy: "a/b" } };
    store.commit("jobs/n/j", job, "new");
    store.commit("jobs/n/j", { ...job, spec: {} }, "new");
    expect(store.wrong).toEqual([]);
  });

  test("derives the lanes from the writes of servers that publish no versions", () => {
    const store = new StoreStub();
    const { storeKey } = store.made("configmaps", "c");
    store.commit(storeKey, { apiVersion: "example/v1" }, "old");
    store.commit(storeKey, { apiVersion: "example/v2" }, "new");
    const [lane] = store.watch.lanes();
    expect(lane?.resource).toBe("core.configmaps");
    expect(lane?.points.at(-1)).toMatchObject({ common: null, encodings: { old: "example/v1", new: "example/v2" } });
  });

  test("reports an object that is deleted although its owner exists as wrongly collected", () => {
    const store = new StoreStub();
    const owner = store.made("configmaps", "owner");
    store.commit(store.made("secrets", "owned", owner).storeKey, undefined);
    expect(store.wrong).toEqual(["collected-although-owned"]);
  });

  test("accepts an object that is deleted with its owner", () => {
    const store = new StoreStub();
    const owner = store.made("configmaps", "owner");
    const owned = store.made("secrets", "owned", owner);
    store.ledger.markDeleting(owner);
    for (const { storeKey } of [owner, owned]) store.commit(storeKey, undefined);
    expect(store.wrong).toEqual([]);
    expect(store.ledger.all()).toEqual([]);
  });

  test("reports an object whose deletion no client requested as lost", () => {
    const store = new StoreStub();
    store.commit(store.made("secrets", "a").storeKey, undefined);
    expect(store.wrong).toEqual(["write-lost"]);
  });

  test("reports a namespace that is deleted before its content, and accepts a namespace that is deleted after it", () => {
    for (const isEarly of [true, false]) {
      const store = new StoreStub();
      const namespace = store.made("namespaces", "n");
      const inside = store.made("configmaps", "a");
      store.ledger.markDeleting(namespace);
      for (const { storeKey } of isEarly ? [namespace, inside] : [inside, namespace]) store.commit(storeKey, undefined);
      expect(store.wrong).toEqual(isEarly ? ["namespace-gone-with-content"] : []);
    }
  });

  test("reports an acknowledged change that is not stored at the end as lost", () => {
    const store = new StoreStub();
    const entry = store.made("configmaps", "a");
    entry.marks.push("rehearsal/kept", "rehearsal/lost");
    store.commit(entry.storeKey, { metadata: { annotations: { "rehearsal/kept": "1" } } });
    store.watch.checkAll();
    expect(store.wrong).toEqual(["write-lost"]);
  });

  test("reports stored objects whose deletion was acknowledged as left behind, unless no server can delete them", () => {
    const store = new StoreStub();
    const namespace = store.made("namespaces", "n");
    const inside = store.made("secrets", "a");
    store.made("configmaps", "b");
    store.ledger.markDeleting(namespace);
    expect(store.watch.leftBehind(() => true)).toEqual([]);
    store.ledger.markMustGo(namespace);
    store.commit("configmaps/n/b", undefined);
    expect(store.watch.leftBehind(() => true)).toEqual([namespace, inside]);
    expect(store.watch.leftBehind(({ resource }) => resource !== "secrets")).toEqual([]);
    store.watch.checkLeftBehind(store.watch.leftBehind(() => true));
    expect(store.wrong).toEqual(["left-behind", "left-behind"]);
  });

  test("adds a point to a lane only when the encodings of a resource change", async () => {
    const store = new StoreStub();
    const say = (common: string, ...encodings: string[]): void =>
      store.commit("storageversions/g.things", {
        status: {
          commonEncodingVersion: common,
          storageVersions: encodings.map((encodingVersion, index) => ({
            ...{ apiServerID: `apiserver-${index}`, encodingVersion, decodableVersions: ["g/v1", "g/v2"] },
          })),
        },
      });
    say("g/v1", "g/v1");
    expect(store.watch.lanes()).toEqual([]);
    say("g/v1", "g/v1", "g/v1");
    await store.world.advance(5_000);
    say("g/v1", "g/v1");
    say("g/v2", "g/v2");
    const points = [
      { atMs: 0, common: "g/v1" },
      { atMs: 5_000, common: "g/v2", encodings: { "apiserver-0": "g/v2" } },
    ];
    expect(store.watch.lanes()).toMatchObject([{ resource: "g.things", points }]);
  });
});
