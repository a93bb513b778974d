/** Verifies that a rehearsal is seeded with the facts of a cluster, and plays its custom resources. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../src/client/client.ts";
import type { JsonObject } from "../../src/meta/json.ts";
import { customTargets } from "../../src/tools/rehearsal/custom-targets.ts";
import { pathApis, runtimeConfigProblem } from "../../src/tools/rehearsal/path-apis.ts";
import { rehearse } from "../../src/tools/rehearsal/rehearse.ts";
import { seedFromApi } from "../../src/tools/rehearsal/seed-from-api.ts";
import { seedFromData } from "../../src/tools/rehearsal/seed-from-data.ts";
import { toSeed, type Seed } from "../../src/tools/rehearsal/seed.ts";
import { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { openStoredDataFile } from "../../src/tools/upgrade/sources/open-file.ts";

const SNAPSHOT = join(import.meta.dirname, "../../../shared/snapshots/emulated-1.33.db.gz");

function crd(plural: string, schema: JsonObject | undefined): JsonObject {
  const version = { name: "v1", served: true, storage: true, ...(schema && { schema: { openAPIV3Schema: schema } }) };
  return {
    metadata: { name: `${plural}.shop.example`, managedFields: [{}] },
    spec: {
      group: "shop.example",
      names: { plural, singular: plural, kind: plural, listKind: `${plural}List` },
      scope: "Namespaced",
      versions: [version],
      conversion: { strategy: "Webhook" },
    },
    status: { storedVersions: ["v1"] },
  };
}

const WIDGETS = crd("widgets", {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size", "color", "parts"],
      properties: {
        size: { type: "integer", minimum: 3 },
        color: { type: "string", enum: ["red", "blue"] },
        parts: { type: "array", minItems: 1, items: { type: "string", minLength: 2 } },
        note: { type: "string" },
      },
    },
  },
});
const KINDS = [
  { group: "", resource: "configmaps", objects: 3 },
  { group: "shop.example", resource: "widgets", objects: 7 },
  { group: "shop.example", resource: "gears", objects: 1 },
  { group: "", resource: "pods", objects: 0 },
  { group: "", resource: "(others)", objects: 9 },
] as const;

function seedOf(crds: readonly JsonObject[]): Seed {
  const from = { release: "1.33", servers: [1, 2], runtimeConfig: [] } as const;
  return toSeed({ source: "a test", from, liveServers: 5, resources: KINDS }, crds);
}

describe("a seed", () => {
  test("has the servers, the release, the kinds in use, and their CRDs without status and webhook", () => {
    const seed = seedOf([WIDGETS, crd("unused", { type: "object" })]);
    expect(seed).toMatchObject({ servers: 2, from: "1.33" });
    expect(seed.kinds.map(({ resource, count }) => `${count} ${resource}`)).toEqual([
      ...["7 widgets", "3 configmaps", "1 gears"],
    ]);
    expect(seed.crds).toHaveLength(1);
    expect(seed.crds[0]).toMatchObject({
      apiVersion: "apiextensions.k8s.io/v1",
      metadata: { name: "widgets.shop.example" },
      spec: { conversion: { strategy: "None" } },
    });
    expect(seed.crds[0]).not.toHaveProperty("status");
    expect(seed.crds[0]?.["metadata"]).not.toHaveProperty("managedFields");
  });

  test("has the number of live servers if the servers themselves are not known", () => {
    const from = { servers: [], runtimeConfig: [] };
    expect(toSeed({ source: "a test", from, liveServers: 5, resources: [] }, []).servers).toBe(5);
    expect(toSeed({ source: "a test", from, liveServers: 0, resources: [] }, []).servers).toBeUndefined();
  });

  test("gives clients the smallest objects that the schema of a CRD admits", () => {
    const [target] = customTargets(seedOf([WIDGETS]).crds, () => 2);
    expect(target).toMatchObject({ group: "shop.example", versions: ["v1"], storagePrefix: "shop.example/widgets" });
    expect(target?.bodies.get("v1")).toEqual({ spec: { size: 3, color: "red", parts: ["aa"] } });
  });

  test("has a runtime config that changes the served APIs, and is rejected if a release does not know it", () => {
    const config = ["resource.k8s.io/v1beta1=true"];
    const names = pathApis(["1.33"], config).map(({ group, version }) => `${group}/${version}`);
    expect(names).toContain("resource.k8s.io/v1beta1");
    expect(runtimeConfigProblem(["1.33", "1.34"], config)).toBeUndefined();
    expect(runtimeConfigProblem(["1.33"], ["no.such.group/v1=true"])).toMatch(
      /^a server of 1\.33 would not start with/,
    );
  });
});

describe("a rehearsal of a cluster", () => {
  test("plays its custom resources, and names those whose CRD the servers reject", async () => {
    const bad = crd("gears", { type: "string" });
    const report = await rehearse({
      ...{ from: "1.33", to: "1.34", servers: 1, minutes: 1, way: "up", faults: "none", seed: 1 },
      subject: "kube-apiserver",
      about: { version: "test", date: "2030-01-01T00:00:00.000Z", command: [] },
      cluster: seedOf([WIDGETS, bad]),
    });
    expect(report.cluster).toMatchObject({ source: "a test", notPlayed: [] });
    for (const { failures, notes, firstWrong, storage } of report.runs) {
      expect(failures).toEqual([]);
      expect(notes).toEqual([expect.stringMatching(/^gears\.shop\.example was not used: the CRD is rejected: /)]);
      expect(firstWrong.filter(({ request }) => request.includes("shop.example"))).toEqual([]);
      expect(storage).toEqual([]);
    }
    // An older server of the plan serves no resource.k8s.io/v1, but this cluster does not use it.
    expect(report.runs[0]?.firstWrong.filter(({ request }) => request.includes("resource.k8s.io/v1"))).toEqual([]);
  });
});

describe("the seed of a running cluster", () => {
  let cluster: SimulatedCluster;
  beforeAll(async () => {
    cluster = new SimulatedCluster({ seed: 1 });
    await cluster.addServer({ release: "1.34", runtimeConfig: ["resource.k8s.io/v1beta1=true"] });
  });
  afterAll(() => cluster.shutDown());

  test("has its release, its runtime config and the numbers of objects, read through the API", async () => {
    const { clock } = cluster.world;
    const transport = cluster.servers[0]!.transport();
    const client = createClient({ transport, clock, random: cluster.world.randomFor("seed") });
    const seed = await cluster.world.run(seedFromApi(client, "https://example"));
    expect(seed).toMatchObject({ source: "cluster https://example", from: "1.34", servers: 1 });
    expect(seed.runtimeConfig).toContain("resource.k8s.io/v1beta1=true");
    expect(seed.kinds.find(({ resource }) => resource === "namespaces")?.count).toBe(4);
  });
});

describe.skipIf(!existsSync(SNAPSHOT))("the seed of an etcd snapshot", () => {
  test("has the release, the kinds with their numbers, and the CRDs in v1", async () => {
    const request = { signal: new AbortController().signal, onProgress: () => {} };
    const data = await openStoredDataFile(SNAPSHOT, request);
    const seed = await seedFromData(data, { ...request, from: undefined, to: "1.36" });
    await data.close();
    expect(seed).toMatchObject({ source: `etcd snapshot ${SNAPSHOT}`, from: "1.33" });
    expect(seed.kinds).toContainEqual({ group: "shop.example", resource: "widgets", count: 8 });
    expect(seed.kinds).toContainEqual({ group: "", resource: "configmaps", count: 11 });
    const [target] = customTargets(seed.crds, () => 1);
    expect(target?.versions).toEqual(["v1", "v1beta1", "v1alpha1"]);
  });
});
