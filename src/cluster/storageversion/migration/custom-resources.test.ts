/** Tests both migration controllers with a custom resource, and their updates of its CRD. */
import { describe, expect, test } from "vitest";
import { createMigrator } from "./migrator.ts";
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
  type DrivenController,
} from "../../../../test/testing/cluster/storageversion/migration/running-controller.ts";

const RESOURCE = "customresourcedefinitions";
const STORAGE_VERSION = "example.io.widgets";
const [V1, V2] = ["example.io/v1", "example.io/v2"];
const VERBS = ["get", "list", "patch", "update", "watch"];
const LONG_MS = 60_000;

class CustomTest implements Disposable {
  readonly cluster = new FakeCluster();
  readonly #options = migrationOptions(this.cluster);
  #running: RunningController | undefined;

  constructor() {
    this.cluster.served["example.io"] = ["v1", "v2"].map((version) => ({ version, resource: "widgets", verbs: VERBS }));
    for (const name of ["a", "b", "c"]) this.cluster.put("widgets", { metadata: { name } }, V1);
    this.define("v2", ["v1", "v2"]);
    this.publish([V2]);
  }

  define(storage: string, storedVersions: readonly string[], generation = 2): void {
    const versions = ["v1", "v2"].map((name) => ({ name, storage: name === storage }));
    this.cluster.put(RESOURCE, {
      metadata: { name: "widgets.example.io", generation },
      spec: { group: "example.io", versions },
      status: { storedVersions, conditions: [] },
    });
  }

  publish(encodings: readonly string[]): void {
    if (encodings.length === 1) this.cluster.encodings.set("widgets", encodings[0]!);
    const since = this.cluster.now();
    this.cluster.put("storageversions", storageVersion(STORAGE_VERSION, encodings, { since }));
  }

  migration(): void {
    this.cluster.put("storageversionmigrations", {
      apiVersion: "storagemigration.k8s.io/v1",
      kind: "StorageVersionMigration",
      metadata: { name: "m", generation: 1 },
      spec: { resource: { group: "example.io", resource: "widgets" } },
    });
  }

  automatic(): void {
    this.#start(createMigrator(this.#options));
  }

  requests(): void {
    this.#start(createSvmController({ ...this.#options, version: "v1", servesStorageVersions: true })!);
  }

  /** Starts a controller in a new term, as the next leader would. */
  #start(controller: DrivenController): void {
    this.#running?.stop();
    this.#running = new RunningController(this.cluster, controller);
  }

  [Symbol.dispose](): void {
    this.#running?.stop();
  }

  get status(): Json {
    return this.cluster.object(RESOURCE, "widgets.example.io").status;
  }

  get said(): string[] {
    return this.status.conditions.map(({ status, reason }: Json) => `${status} ${reason}`);
  }
}

describe("a requested migration", () => {
  test("reports in the CRD that it is running, and later that it has succeeded", async () => {
    using t = new CustomTest();
    t.cluster.patchMs = 1_000;
    t.migration();
    t.requests();
    await t.cluster.world.advance(500);
    expect(t.said).toEqual(["True MigrationRunning"]);
    await t.cluster.world.advance(LONG_MS);
    expect(t.said).toEqual(["False MigrationSucceeded"]);
    expect(t.status.storedVersions).toEqual(["v2"]);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 3 });
  });

  test("that leaves an object behind keeps all stored versions", async () => {
    using t = new CustomTest();
    t.cluster.before = ({ method, name }) =>
      method === "PATCH" && name === "b" ? rejection(422, "Invalid", { name }) : undefined;
    t.migration();
    t.requests();
    await t.cluster.world.advance(LONG_MS);
    expect(t.said).toEqual(["False MigrationFailed"]);
    expect(t.status.storedVersions).toEqual(["v1", "v2"]);
  });

  test("keeps all stored versions if the agreement ends", async () => {
    using t = new CustomTest();
    t.cluster.patchMs = 1_000;
    t.migration();
    t.requests();
    await t.cluster.world.advance(500);
    t.publish([V1, V2]);
    await t.cluster.world.advance(LONG_MS);
    expect(t.said).toEqual(["False MigrationFailed"]);
    expect(t.status.storedVersions).toEqual(["v1", "v2"]);
  });

  test("stops when it is deleted, and the CRD reports the failure", async () => {
    using t = new CustomTest();
    t.cluster.patchMs = 1_000;
    t.migration();
    t.requests();
    await t.cluster.world.advance(500);
    t.cluster.remove("storageversionmigrations", "m");
    await t.cluster.world.advance(LONG_MS);
    expect(t.said).toEqual(["False MigrationFailed"]);
    expect(t.status.storedVersions).toEqual(["v1", "v2"]);
  });

  test("is resumed by the next leader with the generation of the CRD with which it began", async () => {
    using t = new CustomTest();
    t.cluster.patchMs = 1_000;
    t.migration();
    t.requests();
    await t.cluster.world.advance(500);
    const { status } = t;
    t.define("v2", ["v1", "v2"], 3);
    t.cluster.put(RESOURCE, { ...t.cluster.object(RESOURCE, "widgets.example.io"), status });
    t.requests();
    await t.cluster.world.advance(LONG_MS);
    expect(t.said).toEqual(["False MigrationSucceeded"]);
    expect(t.status.conditions[0].message).toContain("generation mismatch");
    expect(t.status.storedVersions).toEqual(["v1", "v2"]);
  });
});

describe("the automatic mode", () => {
  test("updates the CRD when all objects are migrated", async () => {
    using t = new CustomTest();
    t.automatic();
    await t.cluster.world.advance(LONG_MS);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 3 });
    expect(t.status).toEqual({ storedVersions: ["v2"], conditions: [] });
    expect(storedState(t.cluster, STORAGE_VERSION)).toMatchObject({ persistedVersions: [V2] });
  });

  test("does not migrate objects of a CRD with only one stored version", async () => {
    using t = new CustomTest();
    t.define("v1", ["v1"]);
    t.publish([V1]);
    t.automatic();
    await t.cluster.world.advance(LONG_MS);
    expect(t.cluster.patches()).toHaveLength(0);
    expect(storedState(t.cluster, STORAGE_VERSION)).toMatchObject({ persistedVersions: [V1] });
  });

  test("checks again after servers that saw the CRD late agreed on an outdated storage version", async () => {
    using t = new CustomTest();
    t.automatic();
    await t.cluster.world.advance(LONG_MS);
    t.cluster.holdsEvents = true;
    t.publish([V1]);
    t.cluster.put("widgets", { metadata: { name: "late" } }, V1);
    await t.cluster.world.advance(100);
    t.publish([V2]);
    t.cluster.releaseEvents();
    await t.cluster.world.advance(LONG_MS);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 4 });
  });

  test("updates a CRD whose objects an earlier leader had verified without updating it", async () => {
    using t = new CustomTest();
    t.automatic();
    await t.cluster.world.advance(1_000);
    expect(t.cluster.storedVersions("widgets")).toEqual({ [V2]: 3 });
    expect(t.status.storedVersions).toEqual(["v1", "v2"]);
    const patches = t.cluster.patches().length;
    t.automatic();
    await t.cluster.world.advance(LONG_MS);
    expect(t.status.storedVersions).toEqual(["v2"]);
    expect(t.cluster.patches()).toHaveLength(patches);
  });

  test("drops the state of a deleted CRD", async () => {
    using t = new CustomTest();
    t.automatic();
    await t.cluster.world.advance(LONG_MS);
    t.cluster.remove(RESOURCE, "widgets.example.io");
    t.cluster.remove("storageversions", STORAGE_VERSION);
    await t.cluster.world.advance(LONG_MS);
    const { data } = t.cluster.object("configmaps", "evenkeel-storage-state", "kube-system");
    expect(data).toEqual({});
  });
});
