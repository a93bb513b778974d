/**
 * Tests the controller with the cases of kubernetes' unit tests. The cases about a cache (cache older than the
 * checkpoint, monitor not synced, malformed resourceVersion in the cache) are omitted, because this controller has
 * none.
 */
import { describe, expect, test } from "vitest";
import { createSvmController } from "./svm-controller.ts";
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

interface Settings {
  readonly count?: number;
  readonly version?: string;
}

class SvmTest {
  readonly cluster = new FakeCluster();
  readonly options = migrationOptions(this.cluster);
  readonly #version: string;

  constructor({ count = 3, version = "v1" }: Settings = {}) {
    this.#version = version;
    this.cluster.encodings.set("widgets", V2);
    this.cluster.served["example.io"] = ["v1", "v2"].map((served) => ({
      version: served,
      resource: "widgets",
      verbs: VERBS,
    }));
    for (let index = 0; index < count; index++) this.widget(index);
  }

  widget(index: number): void {
    const name = `w${String(index).padStart(5, "0")}`;
    this.cluster.put("widgets", { metadata: { namespace: "default", name } }, V1);
  }

  publish(encodings: readonly string[], more: Json = {}): void {
    this.cluster.put("storageversions", storageVersion(NAME, encodings, { since: this.cluster.now(), ...more }));
  }

  migration(name: string, more: Json = {}): void {
    const { status, metadata, resource = { group: "example.io", resource: "widgets" } } = more;
    this.cluster.put("storageversionmigrations", {
      apiVersion: `storagemigration.k8s.io/${this.#version}`,
      kind: "StorageVersionMigration",
      metadata: { name, generation: 1, ...metadata },
      spec: { resource },
      ...(status === undefined ? {} : { status }),
    });
  }

  start(): RunningController {
    const controller = createSvmController({ ...this.options, version: this.#version, servesStorageVersions: true });
    return new RunningController(this.cluster, controller!);
  }

  async term(forMs = 5_000): Promise<void> {
    using running = this.start();
    await this.cluster.world.advance(forMs);
    if (running.errors.length > 0) throw running.errors[0];
  }

  async untilPatches(count: number): Promise<void> {
    while (this.cluster.patches().length < count) await this.cluster.world.advance(1);
  }

  status(name: string): Json {
    return this.cluster.object("storageversionmigrations", name).status;
  }

  /** The conditions as texts, such as "Running=False MigrationCompleted: Migration completed". */
  conditions(name: string): string[] {
    return (this.status(name)?.conditions ?? []).map(
      ({ type, status, reason, message }: Json) => `${type}=${status} ${reason}: ${message}`,
    );
  }

  /** Each write of a status, in order: the name of the migration with the conditions that were True. */
  story(): string[] {
    return this.cluster
      .writes("storageversionmigrations")
      .map(({ name, body }) => `${name} ${trueTypes(body.status.conditions)}`);
  }
}

function trueTypes(conditions: Json[]): string {
  return conditions
    .filter(({ status }) => status === "True")
    .map(({ type }) => type)
    .join("+");
}

const COMPLETED = "Running=False MigrationCompleted: Migration completed";
const SUCCEEDED = "Succeeded=True StorageVersionMigrationSucceeded: Migration completed";
const FAILED = "Failed=True StorageVersionMigrationFailed: ";

test("without the API of StorageVersionMigrations there is no controller", () => {
  const t = new SvmTest();
  expect(createSvmController({ ...t.options, version: undefined, servesStorageVersions: true })).toBeUndefined();
});

describe("a migration", () => {
  test("runs, chooses a checkpoint, rewrites every object and succeeds", async () => {
    const t = new SvmTest();
    t.migration("first");
    const newest = t.cluster.revision;
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(Number(t.status("first").resourceVersion)).toBeGreaterThanOrEqual(newest);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 3 });
    expect(t.story()).toEqual(["first Running", "first Running", "first Succeeded"]);
    const [, succeeded] = t.status("first").conditions;
    expect(succeeded).toMatchObject({
      observedGeneration: 1,
      lastTransitionTime: t.cluster.now().slice(0, 17) + "00Z",
    });
  });

  test("after one that has succeeded does not write the objects again", async () => {
    const t = new SvmTest();
    t.migration("first");
    await t.term();
    const before = t.cluster.object("widgets", "w00000", "default").metadata.resourceVersion;
    t.migration("second");
    await t.term();
    expect(t.conditions("second")).toEqual([COMPLETED, SUCCEEDED]);
    expect(t.cluster.object("widgets", "w00000", "default").metadata.resourceVersion).toBe(before);
  });

  test("patches objects that are as old as its checkpoint or older, and no newer ones", async () => {
    const t = new SvmTest();
    const running = [{ type: "Running", status: "True", reason: "MigrationRunning", message: "" }];
    t.migration("first", { status: { conditions: running, resourceVersion: "102" } });
    await t.term();
    expect(t.cluster.patches().map(({ body }) => body.metadata.resourceVersion)).toEqual(["101", "102"]);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });

  test("patches all objects if the agreement is newer than its checkpoint", async () => {
    const t = new SvmTest();
    t.publish([V2]);
    t.migration("first", { status: { resourceVersion: "102" } });
    await t.term();
    expect(t.cluster.patches()).toHaveLength(3);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });

  test("that does not exist or has ended is ignored", async () => {
    const t = new SvmTest();
    const status = { conditions: [{ type: "Succeeded", status: "True", reason: "Done", message: "" }] };
    t.migration("done", { status });
    const controller = createSvmController({ ...t.options, version: "v1", servesStorageVersions: true })!;
    const { signal } = new AbortController();
    for (const name of ["done", "none"])
      expect(await t.cluster.world.run(controller.reconcile(name, signal))).toBeUndefined();
    expect([t.story(), t.cluster.patches()]).toEqual([[], []]);
  });

  test.each(["Succeeded", "Failed"])("that is %s loses the condition Running", async (type) => {
    const t = new SvmTest();
    const conditions = [
      { type: "Running", status: "True", reason: "MigrationRunning", message: "" },
      { type, status: "True", reason: "Done", message: "as the test says" },
    ];
    t.migration("done", { status: { conditions } });
    await t.term();
    expect(t.conditions("done")).toEqual([COMPLETED, `${type}=True Done: as the test says`]);
    expect(t.cluster.patches()).toEqual([]);
  });

  test("of v1alpha1 has conditions with lastUpdateTime", async () => {
    const t = new SvmTest({ version: "v1alpha1" });
    t.migration("first", { resource: { group: "example.io", version: "v1", resource: "widgets" } });
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    for (const condition of t.status("first").conditions)
      expect(Object.keys(condition).sort()).toEqual(["lastUpdateTime", "message", "reason", "status", "type"]);
  });

  test("of a resource that is missing in discovery waits a minute and fails", async () => {
    const t = new SvmTest();
    delete t.cluster.served["example.io"];
    t.migration("first");
    using running = t.start();
    await t.cluster.world.advance(55_000);
    expect(trueTypes(t.status("first").conditions)).toBe("Running");
    await t.cluster.world.advance(10_000);
    expect(t.conditions("first")).toEqual([COMPLETED, `${FAILED}resource does not exist in discovery`]);
    expect(running.errors).toEqual([]);
  });

  test("of a resource that appears in discovery in time succeeds", async () => {
    const t = new SvmTest();
    const served = t.cluster.served["example.io"]!;
    delete t.cluster.served["example.io"];
    t.migration("first");
    using running = t.start();
    await t.cluster.world.advance(30_000);
    t.cluster.served["example.io"] = served;
    await t.cluster.world.advance(10_000);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(running.errors).toEqual([]);
  });

  test("of a resource that does not support list, patch and update fails", async () => {
    const t = new SvmTest();
    t.cluster.served["example.io"] = [{ version: "v1", resource: "widgets", verbs: ["get", "list"] }];
    t.migration("first");
    await t.term();
    const message = `resource "example.io/v1, Resource=widgets" does not support discovery operations: [update patch list]`;
    expect(t.conditions("first")).toEqual([COMPLETED, FAILED + message]);
  });

  test("of events fails instead of never ending", async () => {
    const t = new SvmTest();
    t.cluster.served[""] = [{ version: "v1", resource: "events", verbs: VERBS }];
    t.migration("first", { resource: { resource: "events" } });
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, `${FAILED}events are not migrated: they expire by themselves`]);
  });

  test("whose checkpoint is not a number fails", async () => {
    const t = new SvmTest();
    const body = { kind: "WidgetList", metadata: { resourceVersion: "abcde" }, items: [] };
    t.cluster.before = ({ query }) => (query.get("limit") === "1" ? { status: 200, body } : undefined);
    t.migration("first");
    await t.term();
    const message = `latest resourceVersion for example.io/v2, Resource=widgets is not valid: "abcde"`;
    expect(t.conditions("first")).toEqual([COMPLETED, FAILED + message.replace("v2", "v1")]);
  });

  test.each([
    ["empty", "", SUCCEEDED],
    ["nonsense", "abc", `${FAILED}resourceVersion "abc" is not valid`],
  ])("skips no object because of a checkpoint that is %s", async (_what, resourceVersion, end) => {
    const t = new SvmTest();
    t.migration("first", { status: { resourceVersion } });
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, end]);
    expect(t.cluster.storedVersions("widgets")).toEqual(resourceVersion === "" ? { [V2]: 3 } : { [V1]: 3 });
  });

  test("is retried if it cannot get its checkpoint", async () => {
    const t = new SvmTest();
    let left = 2;
    t.cluster.before = ({ query }) =>
      query.get("limit") === "1" && left-- > 0 ? rejection(500, "InternalError") : undefined;
    t.migration("first");
    using running = t.start();
    await t.cluster.world.advance(5_000);
    expect(running.errors).toHaveLength(2);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });
});

describe("if requests for objects fail,", () => {
  test("a conflict on the first object does not keep the second from being patched", async () => {
    const t = new SvmTest({ count: 2 });
    t.cluster.before = ({ method, name }) =>
      method === "PATCH" && name === "w00000" ? rejection(409, "Conflict") : undefined;
    t.migration("first");
    await t.term();
    expect(t.cluster.patches()).toHaveLength(2);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });

  test("an object whose patch is rejected fails the migration, after the others were migrated", async () => {
    const t = new SvmTest({ count: 100 });
    t.cluster.before = ({ method, name }) =>
      method === "PATCH" && name === "w00001" ? rejection(403, "Forbidden") : undefined;
    t.migration("first");
    await t.term();
    const message = "migration encountered unhandled error: default/w00001: as the test says: Forbidden";
    expect(t.conditions("first")).toEqual([COMPLETED, `${FAILED}1/100 not yet migrated. ${message}`]);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V1]: 1, [V2]: 99 });
  });

  test("many failures are reported up to a limit", async () => {
    const t = new SvmTest({ count: 100 });
    t.cluster.before = ({ method }) =>
      method === "PATCH" ? rejection(422, "Invalid", {}, { message: "x".repeat(9_000) }) : undefined;
    t.migration("first");
    await t.term();
    const [, failed] = t.conditions("first");
    expect(failed).toContain("100/100 not yet migrated.");
    expect(failed).toContain("and 95 more");
    expect(failed!.length).toBeLessThan(4_200);
  });

  test("a throttled patch does not fail the migration, which reports the error and continues later", async () => {
    const t = new SvmTest({ count: 2 });
    const isThrottled = (method: string, name: string): boolean => method === "PATCH" && name === "w00001";
    t.cluster.before = ({ method, name }) =>
      isThrottled(method, name) ? rejection(429, "TooManyRequests", { retryAfterSeconds: 90 }) : undefined;
    t.migration("first");
    using running = t.start();
    await t.cluster.world.advance(1_000);
    const [said] = t.conditions("first");
    expect(said).toBe(
      "Running=True MigrationRunning: The migration is running, 1/2 objects not yet migrated; transient error: as the test says: TooManyRequests",
    );
    // The status updates of the controller itself do not trigger it.
    expect(t.cluster.patches().filter(({ name }) => name === "w00001")).toHaveLength(1);
    t.cluster.before = () => undefined;
    await t.cluster.world.advance(95_000);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(running.errors).toEqual([]);
  });

  test("a list that is rejected fails the migration", async () => {
    const t = new SvmTest();
    t.cluster.before = ({ query }) =>
      query.get("limit") === "500" && query.size === 1 ? rejection(403, "Forbidden") : undefined;
    t.migration("first", { status: { resourceVersion: "100" } });
    // Only lists of widgets are rejected: the migration objects are listed in pages of the same size.
    const { before } = t.cluster;
    t.cluster.before = (call) => (call.resource === "widgets" ? before(call) : undefined);
    await t.term();
    expect(t.conditions("first")).toEqual([
      COMPLETED,
      `${FAILED}migration encountered unhandled error: as the test says: Forbidden`,
    ]);
  });
});

describe("several migrations", () => {
  test("of one resource run one after the other, the oldest first", async () => {
    const t = new SvmTest({ count: 100 });
    t.cluster.patchMs = 10;
    t.migration("c", { metadata: { creationTimestamp: "2030-01-01T00:00:01Z" } });
    t.migration("b", { metadata: { creationTimestamp: "2030-01-01T00:00:00Z" } });
    t.migration("a", { metadata: { creationTimestamp: "2030-01-01T00:00:01Z" } });
    await t.term();
    expect(t.story().filter((line) => line.endsWith("Succeeded"))).toEqual([
      "b Succeeded",
      "a Succeeded",
      "c Succeeded",
    ]);
    let isRunning = "";
    for (const [name, types] of t.story().map((line) => line.split(" "))) {
      expect([name, ""]).toContain(isRunning);
      isRunning = types === "Running" ? name! : "";
    }
  });

  test("of several resources run at the same time", async () => {
    const t = new SvmTest({ count: 100 });
    t.cluster.patchMs = 10;
    t.cluster.served[""] = [{ version: "v1", resource: "gadgets", verbs: VERBS }];
    for (let index = 0; index < 100; index++) t.cluster.put("gadgets", { metadata: { name: `g${index}` } });
    t.migration("widgets");
    t.migration("gadgets", { resource: { group: "", resource: "gadgets" } });
    using running = t.start();
    await t.cluster.world.advance(50);
    expect(["widgets", "gadgets"].map((name) => trueTypes(t.status(name).conditions))).toEqual(["Running", "Running"]);
    await t.cluster.world.advance(2_000);
    expect(["widgets", "gadgets"].map((name) => t.conditions(name)[1])).toEqual([SUCCEEDED, SUCCEEDED]);
    expect(running.errors).toEqual([]);
  });

  test("of one resource all succeed, even if there are more migrations than workers", async () => {
    const t = new SvmTest({ count: 50 });
    for (let index = 0; index < 10; index++) t.migration(`m${index}`);
    await t.term(60_000);
    for (let index = 0; index < 10; index++) expect(t.conditions(`m${index}`)[1]).toBe(SUCCEEDED);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 50 });
  });

  test("of one resource do not start before the running one has ended", async () => {
    const t = new SvmTest();
    const conditions = [{ type: "Running", status: "True", reason: "MigrationRunning", message: "" }];
    t.migration("runs", { status: { conditions }, metadata: { creationTimestamp: "2030-01-01T00:00:01Z" } });
    t.migration("waits", { metadata: { creationTimestamp: "2030-01-01T00:00:00Z" } });
    await t.term(60_000);
    expect(t.story().filter((line) => line.endsWith("Succeeded"))).toEqual(["runs Succeeded", "waits Succeeded"]);
  });

  test("of one resource that are reconciled at the same time do not both start", async () => {
    const t = new SvmTest();
    const controller = createSvmController({ ...t.options, version: "v1", servesStorageVersions: true })!;
    const { signal } = new AbortController();
    t.migration("b");
    const reconciled: Promise<unknown>[] = [];
    let running = 0;
    t.cluster.after = ({ method, name, query }) => {
      if (method === "GET" && name === "" && query.get("limit") === "500" && reconciled.length === 1) {
        // Both were created in the same second, so the name decides the order.
        t.migration("a");
        reconciled.push(controller.reconcile("a", signal));
      }
      const begun = ["a", "b"].filter(
        (each) => trueTypes(t.cluster.object("storageversionmigrations", each)?.status?.conditions ?? []) === "Running",
      );
      running = Math.max(running, begun.length);
    };
    reconciled.push(controller.reconcile("b", signal));
    await t.cluster.world.run(reconciled[0]!);
    await t.cluster.world.run(Promise.all(reconciled));
    expect(reconciled).toHaveLength(2);
    expect(running).toBe(1);
  });

  test("of one resource that a crash left running both succeed", async () => {
    const t = new SvmTest();
    const conditions = [{ type: "Running", status: "True", reason: "MigrationRunning", message: "" }];
    for (const name of ["a", "b"]) t.migration(name, { status: { conditions } });
    await t.term(60_000);
    expect([t.conditions("a")[1], t.conditions("b")[1]]).toEqual([SUCCEEDED, SUCCEEDED]);
  });
});

describe("the agreement of the servers", () => {
  test("is awaited before a migration starts", async () => {
    const t = new SvmTest();
    t.publish([V1, V2]);
    t.migration("first");
    using running = t.start();
    await t.cluster.world.advance(30_000);
    const why = "waiting for the servers to agree on a storage version: a writes example.io/v1, b writes example.io/v2";
    expect(t.conditions("first")).toEqual([`Running=True MigrationRunning: The migration is running, ${why}`]);
    expect(t.cluster.patches()).toEqual([]);
    t.publish([V2, V2]);
    await t.cluster.world.advance(1_000);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(storedState(t.cluster, NAME)).toMatchObject({ persistedVersions: [V2], currentVersion: V2 });
    expect(running.errors).toEqual([]);
  });

  test("waits for pending servers, which the condition names", async () => {
    const t = new SvmTest();
    t.publish([V2], { pending: "b, c" });
    t.migration("first");
    await t.term();
    expect(t.conditions("first")[0]).toContain("Waiting for the storage versions of b, c");
  });

  test("that ends during the migration fails the migration", async () => {
    const t = new SvmTest({ count: 400 });
    t.cluster.patchMs = 10;
    t.publish([V2, V2]);
    t.migration("first");
    using running = t.start();
    await t.untilPatches(100);
    t.publish([V1, V2]);
    await t.cluster.world.advance(5_000);
    const message = "the servers' agreement on the storage version changed during the migration";
    expect(t.conditions("first")).toEqual([COMPLETED, FAILED + message]);
    expect(t.cluster.patches().length).toBeLessThan(110);
    expect(storedState(t.cluster, NAME).persistedVersions).toEqual(["Unknown", V2]);
    expect(running.errors).toEqual([]);
  });

  test("that ends and returns during the migration fails the migration, if the end was seen", async () => {
    const t = new SvmTest({ count: 400 });
    t.cluster.patchMs = 10;
    t.publish([V2, V2]);
    t.migration("first");
    using running = t.start();
    await t.untilPatches(100);
    t.publish([V1, V2]);
    t.publish([V2, V2]);
    await t.cluster.world.advance(10_000);
    expect(t.conditions("first")[1]).toMatch(/^Failed=True/);
    expect(running.errors).toEqual([]);
  });

  test("that ends and returns unseen causes another pass over all objects", async () => {
    const t = new SvmTest({ count: 10 });
    t.publish([V2, V2]);
    t.migration("first");
    let hasFlapped = false;
    t.cluster.after = ({ method, name }) => {
      if (method !== "PATCH" || name !== "w00005" || hasFlapped) return;
      hasFlapped = true;
      t.publish([V1, V2]);
      t.widget(0);
      t.publish([V2, V2]);
    };
    const controller = createSvmController({ ...t.options, version: "v1", servesStorageVersions: true })!;
    await t.cluster.world.run(controller.reconcile("first", new AbortController().signal));
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(t.cluster.patches()).toHaveLength(20);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 10 });
  });
});

describe("beside kube-controller-manager, which carries out the same migration,", () => {
  const condition = (type: string, reason: string, message: string): Json => ({
    ...{ type, status: "True", reason, message, lastTransitionTime: "2030-01-01T00:00:00Z" },
  });
  const RUNS = condition("Running", "MigrationRunning", "The migration is running, 5 objects verified migrated");

  function succeed(t: SvmTest): void {
    const object = t.cluster.object("storageversionmigrations", "first");
    const conditions = [RUNS, condition("Succeeded", "StorageVersionMigrationSucceeded", "Migration completed")];
    t.cluster.put("storageversionmigrations", { ...object, status: { ...object.status, conditions } });
  }

  test("a migration whose objects the other controller has just written succeeds, and sends one patch for each object", async () => {
    const t = new SvmTest({ count: 5 });
    t.cluster.before = ({ method, name }) => {
      const isOutdated = t.cluster.object("widgets", name, "default")?.metadata.labels === undefined;
      if (method === "PATCH" && isOutdated)
        t.cluster.put("widgets", { metadata: { namespace: "default", name, labels: { by: "other" } } }, V2);
      return undefined;
    };
    t.migration("first", { status: { conditions: [RUNS], resourceVersion: "105" } });
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    expect(t.cluster.patches()).toHaveLength(5);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 5 });
  });

  test("a migration that the other controller ends stays ended, and is no longer running", async () => {
    const t = new SvmTest({ count: 5 });
    t.cluster.after = ({ method, name }) => {
      if (method === "PATCH" && name === "w00003") succeed(t);
    };
    t.cluster.before = ({ method, name }) =>
      method === "PATCH" && name === "w00004" ? rejection(403, "Forbidden") : undefined;
    t.migration("first");
    await t.term();
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });

  test("a checkpoint that the other controller has chosen is kept, and conflicts about the status are retried", async () => {
    const t = new SvmTest({ count: 5 });
    let conflicts = 3;
    t.cluster.before = ({ method, resource }) =>
      method === "PUT" && resource === "storageversionmigrations" && conflicts-- > 0
        ? rejection(409, "Conflict")
        : undefined;
    t.migration("first", { status: { resourceVersion: "103" } });
    await t.term();
    expect(conflicts).toBeLessThan(0);
    expect(t.status("first").resourceVersion).toBe("103");
    expect(t.cluster.patches().map(({ name }) => name)).toEqual(["w00000", "w00001", "w00002"]);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
  });
});

test("objects that are deleted meanwhile count as migrated", async () => {
  const t = new SvmTest({ count: 5 });
  t.cluster.before = ({ method, name }) => {
    if (method === "PATCH") t.cluster.remove("widgets", name, "default");
    return undefined;
  };
  t.migration("first");
  await t.term();
  expect(t.cluster.patches()).toHaveLength(5);
  expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
});

describe("a controller that is killed", () => {
  test("is followed by one that resumes its position", async () => {
    const t = new SvmTest({ count: 2_000 });
    t.cluster.patchMs = 50;
    t.publish([V2, V2]);
    t.migration("first");
    const killed = t.start();
    await t.untilPatches(1_200);
    expect(t.conditions("first")[0]).toMatch(
      /^Running=True MigrationRunning: The migration is running, 1000\/2000 objects not yet migrated, about 1\ds left$/,
    );
    killed.stop();
    const { owner, position } = storedState(t.cluster, NAME).migration!;
    expect([owner, position.migrated]).toEqual(["uid-first", 1_000]);
    const asked = t.cluster.patches().length;
    await t.term(60_000);
    expect(t.conditions("first")).toEqual([COMPLETED, SUCCEEDED]);
    // Objects that were patched after the position was recorded are newer than the checkpoint, so only the four in
    // flight are patched again.
    expect(t.cluster.patches().length - asked).toBe(2_000 - 1_200 + 4);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 2_000 });
    expect(storedState(t.cluster, NAME).migration).toBeUndefined();
  });
});

test("a migration that is deleted stops at once, and its position is dropped", async () => {
  const t = new SvmTest({ count: 400 });
  t.cluster.patchMs = 10;
  t.publish([V2, V2]);
  t.migration("first");
  using running = t.start();
  await t.untilPatches(100);
  t.cluster.remove("storageversionmigrations", "first");
  await t.cluster.world.advance(5_000);
  expect(t.cluster.patches().length).toBeLessThan(110);
  expect(storedState(t.cluster, NAME).migration).toBeUndefined();
  t.migration("second");
  await t.cluster.world.advance(5_000);
  expect(t.conditions("second")).toEqual([COMPLETED, SUCCEEDED]);
  expect(running.errors).toEqual([]);
});
