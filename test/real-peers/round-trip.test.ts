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
import { isReleaseName } from "../../src/objects/catalog/release.ts";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { differences } from "../fuzz/difference.ts";
import { sampleName, sampleOf } from "../fuzz/samples.ts";
import { collectionPath } from "../fuzz/targets.ts";
import { fullObject } from "../testing/objects/conversion/full-object.ts";
import { realClock } from "../testing/real-clock.ts";
import { BINARIES, whySkipped, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer } from "./real-cluster.ts";

const READS_MAX = 100;

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
      // Webhooks and policies among the objects must not reject the requests of the test.
      const plugins = "ValidatingAdmissionWebhook,MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ServiceAccount";
      const flags = [`--disable-admission-plugins=${plugins}`];
      kube = await cluster.startKube({ at: 0, binary, flags });
      evenkeel = await cluster.startEvenkeel({ at: 1, release: binary.release, flags: [...flags, "--controllers="] });
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
          const path = `${kind.collection}/${created.body.metadata.name}`;
          const [byKube, byEvenkeel] = await readBoth(kube, evenkeel, path);
          compared++;
          found.push(...differenceOf(`${kind.name} created by ${creator.kind}`, byKube, byEvenkeel));
        }
      }
      console.log(`${compared} objects of ${kinds.length} kinds of ${binary.release} compared`);
      expect(found.filter((difference) => !isKnown(difference))).toEqual([]);
      expect(compared).toBe(2 * kinds.length);
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
      expect(found.filter((difference) => !isKnown(difference))).toEqual([]);
      expect(compared).toBe(kinds.length);
    });
  },
);

/** Differences that docs/differences.md explains: defaults of objects stored without them, and times that are not set. */
const KNOWN: readonly RegExp[] = [
  /^v1 PersistentVolumeClaim created by kube-apiserver: \/status\/phase: "Pending" versus nothing$/,
  /^batch\/v1 Job created by kube-apiserver: \/metadata\/labels: \S+ versus nothing\s*$/,
  /^v1 Namespace as JSON: \/metadata\/labels\/kubernetes.io\/metadata.name: "f7" versus nothing$/,
  /^storage\.k8s\.io\/v1 CSINode created by evenkeel: \/status: \{\} versus nothing$/,
  /^apps\/v1 DaemonSet as JSON: \/metadata\/annotations\/deprecated.daemonset.template.generation: "0" versus nothing$/,
];

/** A time that is not set: null for kube-apiserver, absent for Evenkeel. */
const UNSET_TIME = /\s\/\S+Time(stamp)?: null versus nothing/g;

function isKnown(difference: string): boolean {
  const others = difference.replaceAll(UNSET_TIME, "");
  return others.endsWith(":") || KNOWN.some((known) => known.test(others));
}

interface StoredKind {
  readonly name: string;
  readonly key: string;
  readonly version: string;
  readonly collection: string;
  readonly isNamespaced: boolean;
  /** Under the storage root, with a slash at the end. */
  readonly prefix: string;
  readonly fullName: string;
  readonly full: () => JsonObject;
}

/** The kinds that the release serves by default, each in the version in which it is stored. */
function kindsOf({ release }: RealBinary): readonly StoredKind[] {
  if (!isReleaseName(release)) throw new Error(`release ${release} is unknown`);
  const catalog = openCatalog({ release });
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
          isNamespaced,
          prefix: `${storagePrefix}/`,
          fullName: sampleName(key, 7),
          full: () => fullObject(schema, { group, version, kind }),
        },
      ];
    }),
  );
}

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
const MICRO_TIMES: ReadonlySet<string> = new Set(["acquireTime", "renewTime", "eventTime", "lastObservedTime"]);
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
  if (EMPTY_STRUCTS.has(name)) return {};
  if (name === "volumeClaimTemplates") Object.assign(object, { apiVersion: "v1", kind: "PersistentVolumeClaim" });
  if (object["serviceAccountName"] !== undefined) object["serviceAccount"] = object["serviceAccountName"];
  if (object["podIP"] !== undefined) object["podIPs"] = [{ ip: object["podIP"] }, { ip: "192.0.2.9" }];
  if (object["podCIDR"] !== undefined) object["podCIDRs"] = [object["podCIDR"], "192.0.2.0/24"];
  delete object["stringData"];
  return object;
}

/** Reads the same revision through both servers, because controllers of the kube-apiserver may still write the object. */
async function readBoth(kube: RunningServer, evenkeel: RunningServer, path: string): Promise<[unknown, unknown]> {
  for (let attempt = 0; attempt < READS_MAX; attempt++) {
    const { body: byKube } = await kube.request("GET", path);
    const { body: byEvenkeel } = await evenkeel.request("GET", path);
    if (byKube.metadata.resourceVersion === byEvenkeel.metadata.resourceVersion) return [byKube, byEvenkeel];
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
