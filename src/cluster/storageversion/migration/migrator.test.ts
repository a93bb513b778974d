import { describe, expect, test } from "vitest";
import { createMigrator } from "./migrator.ts";
import {
  FakeCluster,
  rejection,
  storageVersion,
  type Json,
} from "../../../../test/testing/cluster/storageversion/migration/fake-cluster.ts";
import {
  migrationOptions,
  RunningController,
  storedState,
} from "../../../../test/testing/cluster/storageversion/migration/running-controller.ts";

const NAME = "example.io.widgets";
const V1 = "example.io/v1";
const V2 = "example.io/v2";
const VERBS = ["get", "list", "patch", "update", "watch"];

/** A cluster with widgets that are stored in v1, and servers that write v2. */
class MigratorTest {
  readonly cluster = new FakeCluster();
  readonly options = migrationOptions(this.cluster);

  constructor(count = 10) {
    this.cluster.encodings.set("widgets", V2);
    this.cluster.served["example.io"] = ["v1", "v2"].map((version) => ({ version, resource: "widgets", verbs: VERBS }));
    for (let index = 0; index < count; index++) this.widget(index);
  }

  widget(index: number, storedVersion = V1): void {
    const name = `w${String(index).padStart(5, "0")}`;
    this.cluster.put("widgets", { metadata: { namespace: "default", name } }, storedVersion);
  }

  publish(encodings: readonly string[], more: Json = {}): void {
    const since = this.cluster.now();
    this.cluster.put("storageversions", storageVersion(NAME, encodings, { since, ...more }));
  }

  start(): RunningController {
    return new RunningController(this.cluster, createMigrator(this.options));
  }

  /** Runs the migrator for one term of this length. */
  async term(forMs = 5_000): Promise<void> {
    using running = this.start();
    await this.cluster.world.advance(forMs);
    if (running.errors.length > 0) throw running.errors[0];
  }

  async untilPatches(count: number): Promise<void> {
    while (this.cluster.patches().length < count) await this.cluster.world.advance(1);
  }

  get state(): ReturnType<typeof storedState> {
    return storedState(this.cluster, NAME);
  }

  metric(series: string): number {
    const line = this.options.registry
      .render()
      .split("\n")
      .find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }

  migrations(result: string): number {
    return this.metric(`evenkeel_storage_migrations_total{resource="${NAME}",result="${result}"}`);
  }
}

describe("a resource on which all servers agree", () => {
  test("is migrated if its stored versions are unknown", async () => {
    const t = new MigratorTest();
    t.publish([V2, V2]);
    await t.term();
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
    expect(t.state).toMatchObject({ persistedVersions: [V2], currentVersion: V2 });
    expect(t.state.migration).toBeUndefined();
    expect(t.migrations("succeeded")).toBe(1);
    expect(t.metric(`evenkeel_storage_migration_objects_total{resource="${NAME}",result="migrated"}`)).toBe(10);
    expect(t.metric(`evenkeel_storage_migration_progress{resource="${NAME}"}`)).toBe(1);
  });

  test("is listed and patched in the agreed version if all servers serve it", async () => {
    const t = new MigratorTest(1);
    t.publish([V2, V2]);
    await t.term();
    expect(t.cluster.patches()[0]?.path).toContain("/apis/example.io/v2/");
  });

  test("causes two writes of the state, and is not migrated again", async () => {
    const t = new MigratorTest();
    t.publish([V2]);
    await t.term(3_600_000);
    await t.term(3_600_000);
    expect(t.cluster.patches()).toHaveLength(10);
    const isHeartbeat = (text: string): boolean => !text.includes("migration") && text.includes("verified");
    const others = t.cluster
      .writes("configmaps")
      .filter(({ body }, index) => index < 2 || !isHeartbeat(body.data[NAME]));
    expect(others).toHaveLength(2);
  });

  test("is not migrated if no server can read another version", async () => {
    const t = new MigratorTest();
    t.publish([V2, V2], { decodable: [V2] });
    await t.term();
    expect(t.cluster.patches()).toEqual([]);
    expect(t.state.persistedVersions).toEqual([V2]);
  });

  test("is migrated although no server can read another version, if objects are known to be stored in one", async () => {
    const t = new MigratorTest();
    t.publish([V1]);
    t.cluster.encodings.set("widgets", V1);
    await t.term();
    expect(t.state.persistedVersions).toEqual([V1]);
    t.cluster.encodings.set("widgets", V2);
    t.publish([V2], { decodable: [V2] });
    await t.term();
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
    expect(t.state.persistedVersions).toEqual([V2]);
  });

  test("is migrated if a server lists no decodable versions, because it may read any version", async () => {
    const t = new MigratorTest();
    t.publish([V2], { decodable: [] });
    await t.term();
    expect(t.cluster.patches()).toHaveLength(10);
  });

  test("that needs no migration causes no write of its own: the results of a start are written together", async () => {
    const t = new MigratorTest(0);
    for (let index = 0; index < 60; index++)
      t.cluster.put("storageversions", storageVersion(`g${index}.things`, ["v1"], { decodable: ["v1"] }));
    await t.term();
    expect(storedState(t.cluster, "g59.things").persistedVersions).toEqual(["v1"]);
    expect(t.cluster.writes("configmaps")).toHaveLength(1);
  });

  test.each([
    ["events", "core.events", { version: "v1", resource: "events", verbs: VERBS }],
    ["without the patch verb", "core.events2", { version: "v1", resource: "events2", verbs: ["get", "list"] }],
    ["not served", "core.ghosts", { version: "v1", resource: "others", verbs: VERBS }],
  ])("is not migrated if it is %s", async (_what, name, served) => {
    const t = new MigratorTest(0);
    t.cluster.served[""] = [served];
    t.cluster.put(served.resource, { metadata: { namespace: "default", name: "one" } });
    t.cluster.put("storageversions", storageVersion(name, ["v1"], { decodable: ["v1", "v2"] }));
    await t.term();
    expect(t.cluster.patches()).toEqual([]);
    expect(storedState(t.cluster, name).persistedVersions).toEqual(["Unknown", "v1"]);
  });
});

describe("servers that do not agree", () => {
  test("make the migrator record the versions that they write, and nothing more", async () => {
    const t = new MigratorTest();
    t.publish([V1, V2]);
    await t.term();
    expect(t.cluster.patches()).toEqual([]);
    expect(t.state.persistedVersions).toEqual(["Unknown", V1, V2]);
  });

  test("abort a running migration at once", async () => {
    const t = new MigratorTest(400);
    t.cluster.patchMs = 10;
    t.publish([V2, V2]);
    using running = t.start();
    await t.untilPatches(100);
    t.publish([V1, V2]);
    await t.cluster.world.advance(0);
    const asked = t.cluster.patches().length;
    await t.cluster.world.advance(60_000);
    expect(t.cluster.patches()).toHaveLength(asked);
    expect(t.migrations("aborted")).toBe(1);
    expect(t.state.persistedVersions).toEqual(["Unknown", V2, V1]);
    expect(t.state.migration).toBeUndefined();
    expect(t.state.verified).toBeUndefined();
    expect(running.errors).toEqual([]);
  });

  test("and later agree again have their objects migrated from the beginning", async () => {
    const t = new MigratorTest(400);
    t.cluster.patchMs = 10;
    t.publish([V2, V2]);
    using running = t.start();
    await t.untilPatches(100);
    t.publish([V1, V2]);
    t.widget(0);
    await t.cluster.world.advance(1_000);
    t.publish([V2, V2]);
    await t.cluster.world.advance(10_000);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 400 });
    expect(t.state.persistedVersions).toEqual([V2]);
    expect([t.migrations("aborted"), t.migrations("succeeded")]).toEqual([1, 1]);
    expect(running.errors).toEqual([]);
  });

  test("make the migrator drop the position of a migration that a killed migrator had begun", async () => {
    const t = new MigratorTest(2_000);
    t.cluster.patchMs = 50;
    t.publish([V2, V2]);
    const killed = t.start();
    await t.untilPatches(1_200);
    killed.stop();
    expect(t.state.migration).toBeDefined();
    t.publish([V1, V2]);
    await t.term();
    expect(t.state.migration).toBeUndefined();
    expect(t.state.persistedVersions).toEqual(["Unknown", V2, V1]);
  });

  test("include a server that has not published yet", async () => {
    const t = new MigratorTest();
    t.publish([V2], { pending: "b" });
    await t.term();
    expect(t.cluster.patches()).toEqual([]);
  });

  test("are not assumed because of a watch event that is older than the agreement", async () => {
    const t = new MigratorTest(400);
    t.cluster.patchMs = 10;
    t.publish([V1, V1]);
    t.cluster.encodings.set("widgets", V1);
    const migrator = createMigrator(t.options);
    using running = new RunningController(t.cluster, migrator);
    await t.cluster.world.advance(5_000);
    t.cluster.encodings.set("widgets", V2);
    t.cluster.holdsEvents = true;
    t.publish([V1, V2]);
    t.publish([V2, V2]);
    const asked = t.cluster.patches().length;
    const reconciled = migrator.reconcile(NAME, new AbortController().signal);
    await t.untilPatches(asked + 50);
    t.cluster.releaseEvents(1);
    await t.cluster.world.run(reconciled);
    expect(t.migrations("aborted")).toBe(0);
    expect(t.state.persistedVersions).toEqual([V2]);
    expect(running.errors).toEqual([]);
  });
});

describe("a StorageVersion object that changes during a pass", () => {
  test("and returns to the same agreement causes another pass, even if no event of the change arrived", async () => {
    const t = new MigratorTest(10);
    t.publish([V2, V2]);
    let hasFlapped = false;
    t.cluster.after = ({ method, name }) => {
      if (method !== "PATCH" || name !== "w00005" || hasFlapped) return;
      hasFlapped = true;
      // No event of this change reaches the migrator, and the first object is written in the old version meanwhile.
      t.publish([V1, V2]);
      t.widget(0, V1);
      t.publish([V2, V2]);
    };
    const migrator = createMigrator(t.options);
    await t.cluster.world.run(migrator.reconcile(NAME, new AbortController().signal));
    expect(t.cluster.patches()).toHaveLength(20);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
    expect(t.state.persistedVersions).toEqual([V2]);
    const { resourceVersion } = t.cluster.object("storageversions", NAME).metadata;
    expect(t.state.verified?.resourceVersion).toBe(resourceVersion);
  });

  test("but whose events arrive late does not abort the next pass", async () => {
    const t = new MigratorTest(100);
    t.cluster.patchMs = 10;
    t.publish([V2, V2]);
    using running = t.start();
    await t.untilPatches(50);
    t.cluster.holdsEvents = true;
    t.publish([V1, V2]);
    t.publish([V2, V2]);
    await t.untilPatches(150);
    t.cluster.releaseEvents(1);
    await t.cluster.world.advance(5_000);
    expect([t.migrations("aborted"), t.cluster.patches().length]).toEqual([0, 200]);
    expect(t.state.persistedVersions).toEqual([V2]);
    expect(running.errors).toEqual([]);
  });

  test("in every pass makes the migration pause without a result", async () => {
    const t = new MigratorTest(10);
    t.publish([V2, V2]);
    t.cluster.after = ({ method, name }) => {
      if (method === "PATCH" && name === "w00005") t.publish([V2, V2]);
    };
    const migrator = createMigrator(t.options);
    const result = await t.cluster.world.run(migrator.reconcile(NAME, new AbortController().signal));
    expect(result).toEqual({ requeueAfterMs: 60_000 });
    expect(t.cluster.patches()).toHaveLength(50);
    expect(t.state.verified).toBeUndefined();
    expect(t.state.persistedVersions).toEqual(["Unknown", V2]);
    expect(t.migrations("succeeded")).toBe(0);
  });

  test.each([2, 3])("to another version after the migrator has read it %i times aborts the migration", async (look) => {
    const t = new MigratorTest(10);
    t.publish([V2, V2]);
    // The reconcile reads the object first. The pass reads it before its first page and after its last, and then the
    // result is evaluated.
    let looks = 0;
    t.cluster.after = ({ resource }) => {
      if (resource === "storageversions" && ++looks === look) t.publish([V1, V1]);
    };
    const migrator = createMigrator(t.options);
    await t.cluster.world.run(migrator.reconcile(NAME, new AbortController().signal));
    expect(t.migrations("aborted")).toBe(1);
    expect(t.state.persistedVersions).toEqual(["Unknown", V2]);
  });
});

describe("a verified resource", () => {
  async function migrated(): Promise<MigratorTest> {
    const t = new MigratorTest();
    await t.cluster.world.advance(60_000);
    t.publish([V2, V2], { since: "2030-01-01T00:00:30Z" });
    await t.term();
    expect(t.state.persistedVersions).toEqual([V2]);
    t.cluster.calls.length = 0;
    return t;
  }

  test("stays verified if the StorageVersion object changes but the agreement did not end", async () => {
    const t = await migrated();
    t.publish([V2], { since: "2030-01-01T00:00:30Z" });
    await t.term();
    expect(t.cluster.patches()).toEqual([]);
  });

  test("causes no request of the migrator when another server publishes its entry under the same agreement", async () => {
    const t = await migrated();
    using running = t.start();
    await t.cluster.world.advance(5_000);
    t.cluster.calls.length = 0;
    t.publish([V2, V2, V2], { since: "2030-01-01T00:00:30Z" });
    await t.cluster.world.advance(5_000);
    expect(t.cluster.calls).toEqual([]);
    t.publish([V2, V1]);
    await t.cluster.world.advance(5_000);
    expect(t.state.persistedVersions).toContain(V1);
    expect(running.errors).toEqual([]);
  });

  test("is migrated again if the agreement ended and returned while the migrator runs", async () => {
    const t = await migrated();
    using running = t.start();
    await t.cluster.world.advance(5_000);
    t.publish([V1, V2]);
    t.widget(0, V1);
    t.publish([V2, V2], { since: "2030-01-01T00:01:20Z" });
    await t.cluster.world.advance(5_000);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
    expect(running.errors).toEqual([]);
  });

  test("is migrated again if the agreement ended and returned unseen", async () => {
    const t = await migrated();
    t.publish([V1, V2]);
    t.widget(0, V1);
    t.publish([V2, V2], { since: "2030-01-01T00:01:10Z" });
    await t.term();
    expect(t.cluster.patches()).toHaveLength(10);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
  });

  test("is migrated again if servers were seen to disagree", async () => {
    const t = await migrated();
    t.publish([V2], { pending: "b" });
    await t.term();
    expect(t.state).toMatchObject({ persistedVersions: [V2, "Unknown"] });
    t.publish([V2, V2]);
    await t.term();
    expect(t.cluster.patches()).toHaveLength(10);
    expect(t.state.persistedVersions).toEqual([V2]);
  });

  test("has two stored versions after servers agree on another one, until all objects are migrated", async () => {
    const t = await migrated();
    t.cluster.encodings.set("widgets", V1);
    t.cluster.patchMs = 10;
    t.publish([V1, V1]);
    using running = t.start();
    await t.untilPatches(1);
    expect(t.state).toMatchObject({ persistedVersions: [V2, V1, "Unknown"], currentVersion: V1 });
    await t.cluster.world.advance(5_000);
    expect(t.state.persistedVersions).toEqual([V1]);
    expect(running.errors).toEqual([]);
  });

  test("is migrated again after a person has made its state invalid", async () => {
    const t = await migrated();
    const configMap = t.cluster.object("configmaps", "evenkeel-storage-state", "kube-system");
    t.cluster.put("configmaps", { ...configMap, data: { [NAME]: "yes, of course" } });
    await t.term();
    expect(t.cluster.patches()).toHaveLength(10);
    expect(t.state.persistedVersions).toEqual([V2]);
  });

  test("has its heartbeat updated, and its state is dropped long after the last server stored the resource", async () => {
    const t = await migrated();
    using running = t.start();
    const before = t.state.lastHeartbeatTime!;
    await t.cluster.world.advance(3_600_000);
    expect(Date.parse(t.state.lastHeartbeatTime!)).toBeGreaterThan(Date.parse(before));
    t.cluster.remove("storageversions", NAME);
    await t.cluster.world.advance(29 * 24 * 3_600_000);
    expect(t.state.persistedVersions).toEqual([V2]);
    await t.cluster.world.advance(3 * 24 * 3_600_000);
    expect(t.state.persistedVersions).toEqual(["Unknown"]);
    expect(running.errors).toEqual([]);
  }, 120_000);
});

describe("objects that fail", () => {
  test("keep the resource from being verified, and are retried after minutes", async () => {
    const t = new MigratorTest(100);
    t.publish([V2]);
    t.cluster.before = ({ method, name }) =>
      method === "PATCH" && name === "w00042" ? rejection(403, "Forbidden") : undefined;
    using running = t.start();
    await t.cluster.world.advance(290_000);
    expect(t.cluster.patches()).toHaveLength(100);
    expect(t.migrations("failed")).toBe(1);
    expect(t.state).toMatchObject({
      persistedVersions: ["Unknown", V2],
      migration: {
        result: "Failed",
        position: { migrated: 99, failed: 1, failures: [{ object: "default/w00042" }] },
      },
    });
    await t.cluster.world.advance(20_000);
    expect(t.cluster.patches()).toHaveLength(200);
    // The next delay is twice as long, even if the controller is triggered meanwhile.
    t.publish([V2], { since: "2030-01-01T00:00:00Z" });
    await t.cluster.world.advance(500_000);
    expect(t.cluster.patches()).toHaveLength(200);
    t.cluster.before = () => undefined;
    await t.cluster.world.advance(200_000);
    expect(t.state.persistedVersions).toEqual([V2]);
    expect(running.errors).toEqual([]);
  });
});

describe("a migrator that is killed", () => {
  test("is followed by one that resumes its position", async () => {
    const t = new MigratorTest(2_000);
    t.cluster.patchMs = 50;
    t.publish([V2, V2]);
    const killed = t.start();
    await t.untilPatches(1_200);
    killed.stop();
    const { continueToken, migrated } = t.state.migration!.position;
    expect(migrated).toBeGreaterThan(0);
    expect(continueToken).not.toBe("");
    const asked = t.cluster.patches().length;
    using successor = t.start();
    await t.cluster.world.advance(60_000);
    expect(t.state.persistedVersions).toEqual([V2]);
    expect(t.cluster.patches().length - asked).toBe(2_000 - migrated);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 2_000 });
    expect(successor.errors).toEqual([]);
  });

  test("is followed by one that starts over if the StorageVersion object has changed meanwhile", async () => {
    const t = new MigratorTest(2_000);
    t.cluster.patchMs = 50;
    t.publish([V2, V2]);
    const killed = t.start();
    await t.untilPatches(1_200);
    killed.stop();
    t.publish([V2, V2]);
    const asked = t.cluster.patches().length;
    using successor = t.start();
    await t.cluster.world.advance(60_000);
    expect(t.state.persistedVersions).toEqual([V2]);
    expect(t.cluster.patches().length - asked).toBe(2_000);
    expect(successor.errors).toEqual([]);
  });

  test("has recorded its position at most every few seconds", async () => {
    const t = new MigratorTest(2_000);
    t.cluster.patchMs = 50;
    t.publish([V2, V2]);
    await t.term(60_000);
    expect(t.state.persistedVersions).toEqual([V2]);
    // With 4 objects at a time and 50 ms each, the migration takes 25 s.
    expect(t.cluster.writes("configmaps").length).toBeLessThanOrEqual(2 + 5);
  });
});

test("a temporary failure pauses a migration, which continues when the failure is over", async () => {
  const t = new MigratorTest(1_200);
  t.publish([V2, V2]);
  t.cluster.before = ({ query }) => (query.get("continue") === null ? undefined : rejection(503, "ServiceUnavailable"));
  using running = t.start();
  await t.cluster.world.advance(70_000);
  expect(t.state.migration).toMatchObject({ result: "Running", position: { migrated: 500 }, total: 1_200 });
  t.cluster.before = () => undefined;
  await t.cluster.world.advance(20_000);
  expect(t.state.persistedVersions).toEqual([V2]);
  expect(t.cluster.patches()).toHaveLength(1_200);
  expect(running.errors).toEqual([]);
});
