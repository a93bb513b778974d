import { describe, expect, test } from "vitest";
import { agreedVersion, type AgreedVersion } from "./agreed-version.ts";
import {
  beginInCrd,
  failInCrd,
  findCrd,
  shrinkStoredVersions,
  succeedInCrd,
  type BegunCrd,
  type CrdPlace,
} from "./crd-status.ts";
import { DEFINITION_SETTLED_MS } from "./migration-limits.ts";
import {
  FakeCluster,
  storageVersion,
  type Json,
} from "../../../../test/testing/cluster/storageversion/migration/fake-cluster.ts";

const RESOURCE = "customresourcedefinitions";
const NAME = "widgets.example.io";
const STORAGE_VERSION = "example.io.widgets";
const V2 = "example.io/v2";

class CrdTest {
  readonly cluster = new FakeCluster();
  readonly stop = new AbortController();
  readonly place: CrdPlace = {
    client: this.cluster.client,
    clock: this.cluster.world.clock,
    name: STORAGE_VERSION,
    signal: this.stop.signal,
  };

  constructor() {
    this.define();
    this.publish();
  }

  define(metadata: Json = {}, storage = "v2"): void {
    const versions = ["v1", "v2"].map((name) => ({ name, storage: name === storage }));
    const known = this.cluster.object(RESOURCE, NAME)?.status ?? { storedVersions: ["v1", "v2"], conditions: [] };
    this.cluster.put(RESOURCE, {
      metadata: { name: NAME, generation: 3, ...metadata },
      spec: { group: "example.io", versions },
      status: known,
    });
  }

  publish(encodings: readonly string[] = [V2], since = "2029-12-31T23:00:00Z"): void {
    this.cluster.put("storageversions", storageVersion(STORAGE_VERSION, encodings, { since }));
  }

  get agreed(): AgreedVersion {
    return agreedVersion(this.cluster.object("storageversions", STORAGE_VERSION))!;
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.cluster.world.run(work);
  }

  async begin(): Promise<BegunCrd> {
    return (await this.run(beginInCrd(this.place, "m")))!;
  }

  get storedVersions(): Json {
    return this.cluster.object(RESOURCE, NAME).status.storedVersions;
  }

  /** The only condition of the CRD, as text. */
  get said(): string {
    const [{ type, status, reason, message, observedGeneration }] = this.cluster.object(RESOURCE, NAME).status
      .conditions;
    return `${type}=${status} ${reason} ${observedGeneration}: ${message}`;
  }
}

describe("a migration that succeeded", () => {
  test("leaves one stored version, but waits until every server has seen the CRD", async () => {
    const t = new CrdTest();
    const begun = await t.begin();
    expect(t.said).toBe("StorageMigrating=True MigrationRunning 3: Migration m is running");
    const done = succeedInCrd(t.place, { begun, agreed: t.agreed });
    await t.cluster.world.advance(DEFINITION_SETTLED_MS - 1);
    expect(t.storedVersions).toEqual(["v1", "v2"]);
    expect(await t.run(done)).toBe(true);
    expect(t.storedVersions).toEqual(["v2"]);
    expect(t.said).toBe(
      "StorageMigrating=False MigrationSucceeded 3: The migration has succeeded and the stored versions have been updated",
    );
  });

  const MISMATCH = "but the stored versions have not been updated due to a generation mismatch";
  const DISAGREED = "but the stored versions have not been updated: not all servers agree on the storage version";
  test.each<[change: string, make: (t: CrdTest) => void, why: string]>([
    ["another generation", (t) => t.define({ generation: 4 }), MISMATCH],
    ["another CRD of the same name", (t) => t.define({ uid: "other" }), MISMATCH],
    ["an end of the agreement", (t) => t.publish(["example.io/v1", V2]), DISAGREED],
    ["an agreement that was renewed", (t) => t.publish([V2], "2030-01-01T00:00:00Z"), DISAGREED],
    ["an agreement on another version", (t) => t.publish(["example.io/v1"]), DISAGREED],
    [
      "the deletion of the StorageVersion object",
      (t) => t.cluster.remove("storageversions", STORAGE_VERSION),
      DISAGREED,
    ],
    ["another storage version that no server has seen yet", (t) => t.define({}, "v1"), DISAGREED],
  ])("keeps the stored versions after %s", async (_change, make, why) => {
    const t = new CrdTest();
    const begun = await t.begin();
    const { agreed } = t;
    make(t);
    await t.run(succeedInCrd(t.place, { begun, agreed }));
    expect(t.storedVersions).toEqual(["v1", "v2"]);
    expect(t.said).toContain(`The migration has succeeded ${why}`);
  });

  test("leaves one stored version even if another server joins and agrees", async () => {
    const t = new CrdTest();
    const begun = await t.begin();
    const { agreed } = t;
    t.publish([V2, V2]);
    await t.run(succeedInCrd(t.place, { begun, agreed }));
    expect(t.storedVersions).toEqual(["v2"]);
  });

  test("keeps the stored versions if there was no agreement", async () => {
    const t = new CrdTest();
    const begun = await t.begin();
    await t.run(succeedInCrd(t.place, { begun, agreed: undefined }));
    expect(t.storedVersions).toEqual(["v1", "v2"]);
  });

  test("checks again if the CRD changes at the last moment", async () => {
    const t = new CrdTest();
    const begun = await t.begin();
    let changes = 0;
    t.cluster.after = ({ resource, method }) => {
      if (resource === "storageversions" && method === "GET" && changes++ === 0) t.define({ generation: 4 });
    };
    await t.run(succeedInCrd(t.place, { begun, agreed: t.agreed }));
    expect(changes).toBe(1);
    expect(t.storedVersions).toEqual(["v1", "v2"]);
    expect(t.said).toContain("generation mismatch");
  });

  test("is not recorded in the CRD if the controller is stopped while it waits", async () => {
    const t = new CrdTest();
    const begun = await t.begin();
    const done = succeedInCrd(t.place, { begun, agreed: t.agreed });
    t.stop.abort();
    expect(await t.run(done)).toBe(false);
    expect(t.said).toContain("is running");
  });
});

describe("a migration that is resumed", () => {
  test("continues with the generation of the CRD for which its condition was set", async () => {
    const t = new CrdTest();
    await t.begin();
    t.define({ generation: 4 });
    expect((await t.begin()).is).toMatchObject({ generation: 3 });
  });

  test("does not continue with the generation of an earlier migration", async () => {
    const t = new CrdTest();
    await t.run(beginInCrd(t.place, "before"));
    t.define({ generation: 4 });
    expect((await t.begin()).is).toMatchObject({ generation: 4 });
    expect(t.said).toBe("StorageMigrating=True MigrationRunning 4: Migration m is running");
  });
});

test("a migration that failed keeps all stored versions", async () => {
  const t = new CrdTest();
  await t.run(failInCrd(t.place));
  expect(t.cluster.writes(RESOURCE)).toHaveLength(0);
  await t.begin();
  await t.run(failInCrd(t.place));
  expect(t.said).toBe("StorageMigrating=False MigrationFailed 3: The migration has failed");
  expect(t.storedVersions).toEqual(["v1", "v2"]);
});

test("a built-in resource has no CRD to update", async () => {
  const t = new CrdTest();
  t.cluster.remove(RESOURCE, NAME);
  expect(await t.run(findCrd(t.place))).toBeUndefined();
  expect(await t.run(beginInCrd(t.place, "m"))).toBeUndefined();
  expect(await t.run(succeedInCrd(t.place, { begun: undefined, agreed: t.agreed }))).toBe(true);
});

describe("an automatic migration", () => {
  test("leaves one stored version, and sets no condition", async () => {
    const t = new CrdTest();
    const { is, storedVersions } = (await t.run(findCrd(t.place)))!;
    expect(storedVersions).toEqual(["example.io/v1", V2]);
    await t.run(shrinkStoredVersions(t.place, { is, agreed: t.agreed }));
    expect(t.storedVersions).toEqual(["v2"]);
    expect(t.cluster.object(RESOURCE, NAME).status.conditions).toEqual([]);
  });

  test.each<[change: string, make: (t: CrdTest) => void]>([
    ["another generation", (t) => t.define({ generation: 4 })],
    ["a renewed agreement", (t) => t.publish([V2], "2030-01-01T00:00:00Z")],
    ["another storage version", (t) => t.define({}, "v1")],
  ])("changes nothing after %s", async (_change, make) => {
    const t = new CrdTest();
    const { is } = (await t.run(findCrd(t.place)))!;
    const { agreed } = t;
    make(t);
    await t.run(shrinkStoredVersions(t.place, { is, agreed }));
    expect(t.cluster.writes(RESOURCE)).toHaveLength(0);
    expect(t.storedVersions).toEqual(["v1", "v2"]);
  });
});
