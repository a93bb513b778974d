/**
 * Every stored kind of a release, written by one kind of server and read by the other. The objects have every field
 * set, which no validation accepts, so they are put into etcd as the server would store them: as JSON for Evenkeel,
 * and in the protobuf encoding of the kube-apiserver, which it returns on request. The smallest valid object of each
 * kind is also created through each server.
 */
import { request as httpsRequest } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatGroupVersion } from "../../src/meta/group-version.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../src/meta/json.ts";
import { openCatalog, type CatalogResource } from "../../src/objects/catalog/catalog.ts";
import { parseRuntimeConfig } from "../../src/objects/catalog/runtime-config.ts";
import { isReleaseName } from "../../src/objects/catalog/release.ts";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { differences } from "../fuzz/difference.ts";
import { sampleName, sampleOf } from "../fuzz/samples.ts";
import { collectionPath } from "../fuzz/targets.ts";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { hollowObject } from "../testing/objects/conversion/hollow-object.ts";
import { encodeProtobufObject } from "../testing/objects/protobuf/encode.ts";
import { fullObject } from "../testing/objects/conversion/full-object.ts";
import { realClock } from "../testing/real-clock.ts";
import { BINARIES, minorOf, PROXYING, whySkipped, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer } from "./real-cluster.ts";

const READS_MAX = 100;
/** Both servers serve every version, also those that are off by default. */
const ALL = "api/all=true";

/** Webhooks and policies among the objects must not reject the requests of the test. */
const PLUGINS = "ValidatingAdmissionWebhook,MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ServiceAccount";
const FLAGS = [`--disable-admission-plugins=${PLUGINS}`, `--runtime-config=${ALL}`];

const why = whySkipped(BINARIES[0], "1.31 or newer");

describe.skipIf(why !== undefined).each(BINARIES)(
  "an object of each kind of kube-apiserver $release",
  { timeout: 400_000 },
  (binary) => {
    let cluster: RealCluster;
    let kube: RunningServer;
    let evenkeel: RunningServer;
    let kv: Kv;
    beforeAll(async () => {
      cluster = await openRealCluster(2);
      kube = await cluster.startKube({ at: 0, binary, flags: FLAGS });
      evenkeel = await cluster.startEvenkeel({ at: 1, release: binary.release, flags: [...FLAGS, "--controllers="] });
      kv = await openEtcdKv({ endpoints: [cluster.etcd], clock: realClock() });
    }, 200_000);
    afterAll(async () => {
      await kv?.close();
      await cluster?.[Symbol.asyncDispose]();
    });

    test("is the same through both servers if either of them created it", async () => {
      const kinds = kindsOf(binary);
      const found: string[] = [];
      let compared = 0;
      for (const [index, kind] of kinds.entries()) {
        for (const [number, creator] of [kube, evenkeel].entries()) {
          const object = sample(kind, 1_000 + 2 * index + number);
          const created = await creator.request("POST", kind.collection, object);
          if (created.status !== 201) {
            found.push(`${kind.name} through ${creator.kind}: ${created.status} ${created.text.slice(0, 200)}`);
            continue;
          }
          compared++;
          for (const collection of kind.collections) {
            const path = `${collection}/${created.body.metadata.name}`;
            const [byKube, byEvenkeel] = await readBoth(kube, evenkeel, path);
            found.push(...differenceOf(`${kind.name} created by ${creator.kind}, at ${path}`, byKube, byEvenkeel));
          }
        }
      }
      console.log(`${compared} objects of ${kinds.length} kinds of ${binary.release} compared`);
      expect(found).toEqual([]);
      expect(compared).toBe(2 * kinds.length);
    });

    test("that a kube-apiserver stored without defaults is stored by the first update without changes, through either", async () => {
      const claims = kindsOf(binary).find(({ key }) => key === "/persistentvolumeclaims")!;
      const revisions = async (server: RunningServer, number: number): Promise<boolean[]> => {
        const { body } = await kube.request("POST", claims.collection, sample(claims, number));
        const path = `${claims.collection}/${body.metadata.name}`;
        const first = await server.request("PUT", path, body);
        const second = await server.request("PUT", path, first.body);
        const bodies = [body, first.body, second.body];
        expect(bodies.map(({ status }) => status)).toEqual(bodies.map(() => ({ phase: "Pending" })));
        const [created, ...updated] = bodies.map(({ metadata }) => metadata.resourceVersion);
        return [created !== updated[0], updated[0] !== updated[1]];
      };
      expect(await revisions(kube, 2_000)).toEqual([true, false]);
      expect(await revisions(evenkeel, 2_001)).toEqual([true, false]);
    });

    test("with every field set is the same through both servers in the encoding of either", async () => {
      const kinds = kindsOf(binary);
      const found: string[] = [];
      let compared = 0;
      for (const kind of kinds) {
        const full = filled(kind);
        const key = `/registry/${kind.prefix}${kind.isNamespaced ? "default/" : ""}${kind.fullName}`;
        const path = `${kind.collection}/${kind.fullName}`;
        await write(kv, key, Buffer.from(JSON.stringify(full)));
        const byKube = await kube.request("GET", path);
        const byEvenkeel = await evenkeel.request("GET", path);
        if (byKube.status !== 200) {
          found.push(`${kind.name}: kube-apiserver returns ${byKube.status} ${byKube.text.slice(0, 200)}`);
          continue;
        }
        compared++;
        found.push(...differenceOf(`${kind.name} as JSON`, byKube.body, byEvenkeel.body));
        await write(kv, key, await protobufOf(kube, path));
        const decoded = await evenkeel.request("GET", path);
        found.push(...differenceOf(`${kind.name} as protobuf`, byKube.body, decoded.body));
        await erase(kv, key);
      }
      console.log(`${compared} full objects of ${kinds.length} kinds of ${binary.release} compared`);
      expect(found).toEqual([]);
      expect(compared).toBe(kinds.length);
    });

    test("without any scalar has the same defaults through both servers, in each version", async () => {
      const kinds = kindsOf(binary);
      const found: string[] = [];
      let compared = 0;
      for (const kind of kinds) {
        const key = `/registry/${kind.prefix}${kind.isNamespaced ? "default/" : ""}${kind.fullName}`;
        await write(kv, key, encodeProtobufObject(named(kind.hollow(), kind), protobufTables()));
        for (const collection of kind.collections) {
          const [byKube, byEvenkeel] = await readBoth(kube, evenkeel, `${collection}/${kind.fullName}`);
          compared++;
          found.push(...differenceOf(collection, byKube, byEvenkeel));
          const query = `${collection}?fieldSelector=metadata.name%3D${kind.fullName}`;
          const [listed, listedHere] = await readBoth(kube, evenkeel, query);
          found.push(...differenceOf(`${collection} as a list`, listed, listedHere));
        }
        await erase(kv, key);
      }
      console.log(`${compared} hollow objects of ${kinds.length} kinds of ${binary.release} compared`);
      expect(found).toEqual([]);
      expect(compared).toBeGreaterThan(kinds.length);
    });
  },
);

/** A kube-apiserver emulates releases that are at most this many minors older. */
const EMULATED_MINORS = 3;

describe.skipIf(why !== undefined).each(PROXYING)(
  "an object that kube-apiserver $release stored while it emulated an older release",
  { timeout: 400_000 },
  (binary) => {
    const release = `1.${minorOf(binary.release) - EMULATED_MINORS}`;

    test("is the same through a kube-apiserver and Evenkeel of the newer release, in each version", async () => {
      await using cluster = await openRealCluster(2);
      const emulating = [...FLAGS, `--emulated-version=${release}`];
      const older = await cluster.startKube({ at: 0, binary, flags: emulating, proxy: "off" });
      const written = new Map<string, unknown>();
      for (const [index, kind] of kindsOf({ ...binary, release }).entries()) {
        const created = await older.request("POST", kind.collection, sample(kind, 3_000 + index));
        if (created.status === 201) written.set(kind.key, created.body.metadata.name);
      }
      expect(written.size).toBeGreaterThan(50);
      await older.stop();
      const kube = await cluster.startKube({ at: 0, binary, flags: FLAGS });
      const flags = [...FLAGS, "--controllers="];
      const evenkeel = await cluster.startEvenkeel({ at: 1, release: binary.release, flags });
      const found: string[] = [];
      for (const { key, collections } of kindsOf(binary)) {
        if (!written.has(key)) continue;
        for (const collection of collections) {
          const [byKube, byEvenkeel] = await readBoth(kube, evenkeel, `${collection}/${String(written.get(key))}`);
          found.push(...differenceOf(collection, byKube, byEvenkeel));
        }
      }
      console.log(`${written.size} kinds of ${release} compared in ${binary.release}`);
      expect(found).toEqual([]);
    });
  },
);

interface StoredKind {
  readonly name: string;
  readonly key: string;
  readonly version: string;
  readonly collection: string;
  /** The collections of all served versions. */
  readonly collections: readonly string[];
  readonly isNamespaced: boolean;
  /** Under the storage root, with a slash at the end. */
  readonly prefix: string;
  readonly fullName: string;
  readonly full: () => JsonObject;
  readonly hollow: () => JsonObject;
}

/** The kinds that the release serves by default, each in the version in which it is stored. */
function kindsOf({ release }: RealBinary): readonly StoredKind[] {
  if (!isReleaseName(release)) throw new Error(`release ${release} is unknown`);
  const catalog = openCatalog({ release, runtimeConfig: parseRuntimeConfig(ALL) });
  return catalog.groups.flatMap(({ resources }) =>
    resources.flatMap((resource: CatalogResource) => {
      const { group, storageVersion, storagePrefix, namespaced: isNamespaced } = resource;
      const served = resource.versions.find(({ version }) => formatGroupVersion({ group, version }) === storageVersion);
      if (served === undefined || storagePrefix === undefined || !served.verbs.includes("create")) return [];
      const { version, kind } = served;
      const schema = catalog.schemas.kind(group, version, kind);
      if (schema === undefined) return [];
      const key = `${group}/${resource.resource}`;
      return [
        {
          name: `${storageVersion} ${kind}`,
          key,
          version,
          collection: collectionPath({ group, version, resource: resource.resource, isNamespaced }),
          collections: resource.versions.map((one) =>
            collectionPath({ group, version: one.version, resource: resource.resource, isNamespaced }),
          ),
          isNamespaced,
          prefix: `${storagePrefix}/`,
          fullName: sampleName(key, 7),
          full: () => fullObject(schema, { group, version, kind }),
          hollow: () => hollowObject(schema, { group, version, kind }, ABSENT),
        },
      ];
    }),
  );
}

/**
 * Fields that are absent in objects without scalars: an autoscaler has no metric without values, and an alpha field of
 * pods has another form in 1.37.
 */
const ABSENT: ReadonlySet<string> = new Set(["metrics", "currentMetrics", "nodeAllocatableResourceClaimStatuses"]);

function sample({ key, version, name, isNamespaced }: StoredKind, number: number): JsonObject {
  const [apiVersion, kind] = name.split(" ");
  const objectName = sampleName(key, number);
  const content = sampleOf(key, { name: objectName, version });
  const namespace = isNamespaced ? { namespace: "default" } : {};
  return {
    apiVersion,
    kind,
    ...content,
    metadata: { ...objectAt(content, "metadata"), name: objectName, ...namespace },
  };
}

function named(object: JsonObject, { fullName, isNamespaced }: StoredKind): JsonObject {
  return { ...object, metadata: { name: fullName, ...(isNamespaced && { namespace: "default" }), uid: "u" } };
}

/** The fields of metadata that servers interpret have plausible values, and fields that mean the same are equal. */
function filled({ full, fullName, isNamespaced }: StoredKind): JsonObject {
  const object = consistent(full()) as JsonObject;
  const { resourceVersion: _, selfLink: __, deletionTimestamp: ___, ...metadata } = objectAt(object, "metadata");
  const fields = { fieldsType: "FieldsV1", fieldsV1: { "f:metadata": {} } };
  return {
    ...object,
    metadata: {
      ...metadata,
      name: fullName,
      ...(isNamespaced ? { namespace: "default" } : { namespace: undefined }),
      uid: "01234567-89ab-cdef-0123-456789abcdef",
      managedFields: [
        { manager: "test", operation: "Update", apiVersion: "v1", time: "2024-01-01T00:00:00Z", ...fields },
      ],
    },
  };
}

/** Times with microseconds. */
const MICRO_TIMES: ReadonlySet<string> = new Set([
  "acquireTime",
  "renewTime",
  "eventTime",
  "lastObservedTime",
  "pingTime",
]);
/** Fields of a schema in a CRD that may be a schema or something else, and objects without fields. */
const SCHEMAS: ReadonlySet<string> = new Set(["additionalItems", "additionalProperties", "items", "dependencies"]);

/** Members of the unions in spec.scheduling of a Job; they have no fields. */
const EMPTY_STRUCTS: ReadonlySet<string> = new Set(["all", "single", "basic"]);

/**
 * A server keeps fields that mean the same equal when it stores an object, so the kube-apiserver relies on it when it
 * reads the object.
 */
function consistent(value: unknown, name = ""): unknown {
  if (typeof value === "string") return MICRO_TIMES.has(name) ? value.replace("Z", ".000000Z") : value;
  if (Array.isArray(value)) return value.map((item) => consistent(item, name));
  if (!isJsonObject(value)) return value;
  const object = Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, consistent(inner, field)]));
  if (name === "openAPIV3Schema") for (const field of SCHEMAS) delete object[field];
  if (name === "subresources") object["status"] = {};
  // The spec of a StorageVersion has no fields.
  if (EMPTY_STRUCTS.has(name) || (name === "spec" && "anything" in object)) return {};
  if (name === "volumeClaimTemplates") Object.assign(object, { apiVersion: "v1", kind: "PersistentVolumeClaim" });
  if (object["serviceAccountName"] !== undefined) object["serviceAccount"] = object["serviceAccountName"];
  if (object["podIP"] !== undefined) object["podIPs"] = [{ ip: object["podIP"] }, { ip: "192.0.2.9" }];
  if (object["podCIDR"] !== undefined) object["podCIDRs"] = [object["podCIDR"], "192.0.2.0/24"];
  delete object["stringData"];
  return object;
}

/**
 * Reads the same revision of an object, or of the only object in a list, through both servers, because controllers of the kube-apiserver may still write the object.
 */
async function readBoth(kube: RunningServer, evenkeel: RunningServer, path: string): Promise<[unknown, unknown]> {
  for (let attempt = 0; attempt < READS_MAX; attempt++) {
    const { status, body: byKube, text } = await kube.request("GET", path);
    if (status !== 200) throw new Error(`${path}: kube-apiserver returns ${status} ${text.slice(0, 200)}`);
    const { body: byEvenkeel } = await evenkeel.request("GET", path);
    const [one, other] = [byKube, byEvenkeel].map(({ items, ...object }) => (items === undefined ? object : items[0]));
    if (one?.metadata.resourceVersion === other?.metadata.resourceVersion) return [one, other];
  }
  throw new Error(`the revision of ${path} differs between the servers`);
}

async function write(kv: Kv, key: string, value: Buffer): Promise<void> {
  const { items } = await kv.range({ start: key, end: `${key}\0` });
  await kv.commit({ kind: "put", key, value, expectedRevision: items[0]?.modRevision ?? 0 });
}

async function erase(kv: Kv, key: string): Promise<void> {
  const { items } = await kv.range({ start: key, end: `${key}\0` });
  await kv.commit({ kind: "delete", key, expectedRevision: items[0]!.modRevision });
}

/** The bytes that the kube-apiserver would store. */
function protobufOf({ url, agent, ca, token }: RunningServer, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.kubernetes.protobuf" };
    const request = httpsRequest(url + path, { agent, ca, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks)));
    });
    request.on("error", reject);
    request.end();
  });
}

function differenceOf(what: string, byKube: unknown, byEvenkeel: unknown): string[] {
  const [left, right] = [comparable(byKube), comparable(byEvenkeel)];
  return JSON.stringify(left) === JSON.stringify(right) ? [] : [`${what}: ${differences(left, right)}`];
}

/** Sorts the fields and drops the revision, which changes with each write of the test. */
function comparable(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => comparable(item));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).filter(([field]) => name !== "metadata" || field !== "resourceVersion");
  return Object.fromEntries(
    entries.sort(([one], [other]) => (one < other ? -1 : 1)).map(([field, inner]) => [field, comparable(inner, field)]),
  );
}
