/**
 * Compares the versions in which a real kube-apiserver stores objects, with and without an emulated version and a
 * minimum compatibility version, with the versions that the catalog chooses. It compares the hash in the discovery
 * document for every stored resource, and the values in etcd for one object of each kind.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseGroupVersion } from "../../src/meta/group-version.ts";
import { storedApiVersion } from "../../src/cluster/inspect/stored-api-version.ts";
import { createLocator } from "../../src/cluster/inspect/resource-of-key.ts";
import type { Catalog } from "../../src/objects/catalog/catalog.ts";
import { resolveRelease } from "../../src/objects/catalog/release-options.ts";
import { storageOfRelease, storagePlaceOf, type StoragePlace } from "../../src/objects/catalog/storage-places.ts";
import { storageVersionHash } from "../../src/objects/catalog/storage-version-hash.ts";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { prefixEnd, type Kv } from "../../src/storage/kv.ts";
import { sampleName, sampleOf } from "../fuzz/samples.ts";
import { collectionPath } from "../fuzz/targets.ts";
import { realClock } from "../testing/real-clock.ts";
import { BINARIES, minorOf, whySkipped, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer } from "./real-cluster.ts";

const ROOT = "/registry/";
/** DIFFERS: kubernetes still stores CRDs in v1beta1. */
const STORED_OTHERWISE = "customresourcedefinitions";
/**
 * An emulating kube-apiserver with StorageVersionAPI, or with the plugin MutatingAdmissionPolicy, never becomes ready.
 * One of 1.37 that emulates 1.35 does not start with EventedPLEG.
 */
const GATES = "AllAlpha=true,AllBeta=true,StorageVersionAPI=false,EventedPLEG=false";
/** The first releases with the flags. */
const WIDE_RANGE_MINOR = 33;
const MIN_COMPATIBILITY_MINOR = 35;

const why = whySkipped(BINARIES[0], "1.31 or newer");

interface Effective {
  readonly emulated?: string;
  readonly oldest?: string;
}

/** The combinations of flags to test, of which the first has none. */
function combinations({ release }: RealBinary): readonly Effective[] {
  const minor = minorOf(release);
  if (minor < WIDE_RANGE_MINOR) return [{}];
  const back = (count: number): string => `1.${Math.max(minor - count, 31)}`;
  const emulated = [1, 2, 3].map((count) => ({ emulated: back(count) }));
  if (minor < MIN_COMPATIBILITY_MINOR) return [{}, ...emulated];
  return [
    {},
    ...emulated,
    { oldest: release },
    { oldest: back(3) },
    { emulated: back(1), oldest: back(1) },
    { emulated: back(1), oldest: back(3) },
  ];
}

const CASES = BINARIES.flatMap((binary) =>
  combinations(binary).map((effective) => ({
    binary,
    effective,
    what: `${binary.release} ${JSON.stringify(effective)}`,
  })),
);

describe.skipIf(why !== undefined).each(CASES)(
  "kube-apiserver $what stores its objects in the versions of the catalog:",
  { timeout: 200_000 },
  ({ binary, effective }) => {
    let cluster: RealCluster;
    let kube: RunningServer;
    let kv: Kv;
    let catalog: Catalog;
    beforeAll(async () => {
      cluster = await openRealCluster(1);
      const { emulated, oldest } = effective;
      const policies = minorOf(binary.release) < 32 ? "" : ",MutatingAdmissionPolicy";
      const plugins = `ValidatingAdmissionWebhook,MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ServiceAccount${policies}`;
      const flags = [
        ...["--runtime-config=api/all=true", `--feature-gates=${GATES}`, `--disable-admission-plugins=${plugins}`],
        ...(emulated === undefined ? [] : [`--emulated-version=${emulated}`]),
        ...(oldest === undefined ? [] : [`--min-compatibility-version=${oldest}`]),
      ];
      kube = await cluster.startKube({ at: 0, binary, flags, proxy: "off" });
      kv = await openEtcdKv({ endpoints: [cluster.etcd], clock: realClock() });
      ({ catalog } = resolveRelease({
        ...{ release: binary.release, strictRelease: true, runtimeConfig: ["api/all=true"], featureGates: [GATES] },
        ...(emulated === undefined ? {} : { emulatedVersion: [emulated] }),
        ...(oldest === undefined ? {} : { minCompatibilityVersion: [oldest] }),
      }));
    }, 200_000);
    afterAll(async () => {
      await kv?.close();
      await cluster?.[Symbol.asyncDispose]();
    });

    const expected = (place: StoragePlace): string | undefined =>
      place.resource === STORED_OTHERWISE
        ? "apiextensions.k8s.io/v1beta1"
        : storageOfRelease(place, catalog.release.name, catalog.emulation)?.storageVersion;

    test("the hashes in discovery", async () => {
      const found: string[] = [];
      const compared = await hashesOf(kube);
      for (const { group, resource, kind, hash } of compared) {
        // The events of both groups are stored as those of the core group.
        const place = resource === "events" ? storagePlaceOf("", "events")! : storagePlaceOf(group, resource)!;
        const version = parseGroupVersion(expected(place) ?? "");
        if (storageVersionHash(version.group, version.version, kind) !== hash)
          found.push(`${resource}.${group} is not stored in ${expected(place)}`);
      }
      expect(found).toEqual([]);
      expect(compared.length).toBeGreaterThan(50);
    });

    test("the values in etcd", async () => {
      for (const { collection, object } of samples(catalog)) await kube.request("POST", collection, object);
      const { items } = await kv.range({ start: ROOT, end: prefixEnd(ROOT) });
      const locate = createLocator(ROOT);
      const found = new Set<string>();
      const resources = new Set<string>();
      for (const { key, value } of items) {
        const location = locate(key);
        if (location.kind !== "object") continue;
        const stored = storedApiVersion(value);
        resources.add(location.place.prefix);
        if (stored !== expected(location.place))
          found.add(`${location.place.resource}: ${stored}, not ${expected(location.place)}`);
      }
      console.log(`${items.length} values of ${resources.size} resources compared`);
      expect([...found]).toEqual([]);
      expect(resources.size).toBeGreaterThan(45);
    });
  },
);

interface Hashed {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly hash: string;
}

/** The hashes of all stored resources, from the discovery document of each group version. */
async function hashesOf(kube: RunningServer): Promise<Hashed[]> {
  const { body } = await kube.request("GET", "/apis");
  const groupVersions = body.groups.flatMap((group: Group) => group.versions.map((one) => one.groupVersion));
  const hashed: Hashed[] = [];
  for (const path of ["/api/v1", ...groupVersions.map((one: string) => `/apis/${one}`)]) {
    const document = (await kube.request("GET", path)).body;
    const { group } = parseGroupVersion(document.groupVersion);
    for (const { name, kind, storageVersionHash: hash } of document.resources as DiscoveredResource[])
      if (hash !== undefined) hashed.push({ group, resource: name, kind, hash });
  }
  return hashed;
}

interface Group {
  readonly versions: readonly { readonly groupVersion: string }[];
}

interface DiscoveredResource {
  readonly name: string;
  readonly kind: string;
  readonly storageVersionHash?: string;
}

/** An object of each kind that the server serves, in the version that it prefers. */
function samples(catalog: Catalog): { readonly collection: string; readonly object: object }[] {
  return catalog.groups.flatMap(({ resources }) =>
    resources.flatMap(({ group, resource, namespaced: isNamespaced, versions }) => {
      const [{ version, kind, verbs }] = versions as [(typeof versions)[number]];
      if (!verbs.includes("create") || !verbs.includes("get")) return [];
      const key = `${group}/${resource}`;
      const name = sampleName(key, 1);
      const content: { metadata?: object } = sampleOf(key, { name, version });
      const namespace = isNamespaced ? { namespace: "default" } : {};
      const metadata = { ...content.metadata, name, ...namespace };
      const apiVersion = group === "" ? version : `${group}/${version}`;
      const collection = collectionPath({ group, version, resource, isNamespaced });
      return [{ collection, object: { ...content, apiVersion, kind, metadata } }];
    }),
  );
}
