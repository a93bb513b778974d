/**
 * Every object that a server stores has all defaults of the server's release. Reads rely on this: the watch cache adds
 * defaults only to the values that another server has written.
 */
import { expect, test } from "vitest";
import { DEFINITION_KINDS } from "../../src/extensions/crd/validation/crd-kind.ts";
import { formatGroupVersion } from "../../src/meta/group-version.ts";
import { objectAt, type JsonObject } from "../../src/meta/json.ts";
import { openCatalog, type Catalog } from "../../src/objects/catalog/catalog.ts";
import { parseRuntimeConfig } from "../../src/objects/catalog/runtime-config.ts";
import { createKinds } from "../../src/objects/kinds/kinds.ts";
import { storedDefaults } from "../../src/serving/resources/stored-defaults.ts";
import { prefixEnd, type KeyValue } from "../../src/storage/kv.ts";
import { differences } from "../fuzz/difference.ts";
import { sampleName, sampleOf } from "../fuzz/samples.ts";
import { collectionPath } from "../fuzz/targets.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { startServer } from "./start.ts";

const ALL = ["api/all=true"];

interface SampleRequest {
  readonly path: string;
  readonly object: JsonObject;
}

/** The smallest object of each stored kind, in each version that the release can serve. */
function requestsOf(catalog: Catalog): SampleRequest[] {
  const resources = catalog.groups.flatMap((group) => group.resources).filter(({ storageVersion }) => storageVersion);
  const served = resources.flatMap((resource) => resource.versions.map((version) => ({ resource, ...version })));
  return served.flatMap(({ resource, version, kind, verbs }, index) => {
    if (!verbs.includes("create")) return [];
    const { group, namespaced: isNamespaced } = resource;
    const key = `${group}/${resource.resource}`;
    const name = sampleName(key, index);
    const content = sampleOf(key, { name, version });
    const metadata = { ...objectAt(content, "metadata"), name, ...(isNamespaced && { namespace: "default" }) };
    const apiVersion = formatGroupVersion({ group, version });
    const path = collectionPath({ group, version, resource: resource.resource, isNamespaced });
    return [{ path, object: { apiVersion, kind, ...content, metadata } }];
  });
}

/** The differences of a value from the value that this server would write; none for protobuf. */
function incompleteness(catalog: Catalog): (item: KeyValue) => string[] {
  const addDefaults = storedDefaults({
    ...{ catalog, storageRoot: "/registry/", kindOf: createKinds(DEFINITION_KINDS), ipFamilies: ["IPv4"] },
    clock: { now: () => 0 },
  });
  return ({ key, value }) => {
    const text = value.toString();
    if (text.startsWith("k8s\0")) return [];
    const given = JSON.parse(text) as JsonObject;
    const { object, lacksDefaults } = addDefaults(key, given, text);
    if (lacksDefaults) return [`${key} lacks ${differences(object, JSON.parse(text))}`];
    return object === given ? [] : [`${key} is compared field by field, because its fields have another order`];
  };
}

test.each(["1.28", "1.33", "1.36", "1.37"] as const)(
  "each object that a server of %s stores has the bytes that it would have after defaulting",
  async (release) => {
    await using server = await startServer({ release, runtimeConfig: ALL });
    const catalog = openCatalog({ release, runtimeConfig: parseRuntimeConfig(ALL) });
    const requests = requestsOf(catalog);
    let created = 0;
    for (const { path, object } of requests) if ((await server.create(path, object)).status === 201) created++;
    expect(created / requests.length).toBeGreaterThan(0.9);
    const { items } = await server.kv.range({ start: "/registry/", end: prefixEnd("/registry/") });
    expect(items.flatMap(incompleteness(catalog))).toEqual([]);
  },
);

test.each([
  ["1.33", "1.37"],
  ["1.36", "1.37"],
] as const)(
  "the same PUT, sent in turn to servers of %s and %s, writes an object no more that both store in one version",
  async (older, newer) => {
    const world = new World({ seed: 1 });
    await using first = await startServer({ world, release: older, runtimeConfig: ALL });
    await using second = await startServer({ world, release: newer, runtimeConfig: ALL });
    const [catalog, other] = [older, newer].map((release) =>
      openCatalog({ release, runtimeConfig: parseRuntimeConfig(ALL) }),
    );
    let compared = 0;
    for (const { path, object } of requestsOf(catalog!)) {
      if ((await first.create(path, object)).status !== 201) continue;
      const target = `${path}/${String(objectAt(object, "metadata")["name"])}`;
      const revisions: unknown[] = [];
      for (const server of [first, second, first, second, first, second]) {
        const { body: read } = await server.get(target);
        const resourceVersion: unknown = read?.metadata?.resourceVersion;
        const { status, body } = await server.put(target, {
          ...object,
          metadata: { ...objectAt(object, "metadata"), resourceVersion },
        });
        if (status === 200) revisions.push(body.metadata.resourceVersion);
      }
      const [, , , , last, newest] = revisions;
      const [, , resource = ""] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
      if (newest === undefined || !isStoredAlike(resource, catalog!, other!)) continue;
      expect([target, newest]).toEqual([target, last]);
      compared++;
    }
    expect(compared).toBeGreaterThan(40);
  },
);

function isStoredAlike(resource: string, ...catalogs: readonly Catalog[]): boolean {
  const versions = catalogs.map(
    ({ groups }) =>
      groups.flatMap(({ resources }) => resources).find((one) => one.resource === resource)?.storageVersion,
  );
  return versions[0] !== undefined && JSON.stringify(versions[0]) === JSON.stringify(versions[1]);
}
