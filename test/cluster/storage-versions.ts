/** Helpers that compare the reports of servers about stored versions with the content of the store. */
import { setTimeout as delay } from "node:timers/promises";
import { type Kv, prefixEnd } from "../../src/storage/kv.ts";
import type { Json } from "../smoke/client.ts";
import type { Evenkeel } from "../smoke/start-evenkeel.ts";

export const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
export const STATE = "/api/v1/namespaces/kube-system/configmaps/evenkeel-storage-state";
/** The version that 1.34 writes, and the version that 1.35 writes. */
export const BEFORE = "resource.k8s.io/v1beta2";
export const AFTER = "resource.k8s.io/v1";
/** Long enough, even for a busy machine. */
const DEADLINE_MS = 60_000;
const POLL_MS = 50;

/** A resource of which the tests write objects. */
export interface Subject {
  /** The name of the StorageVersion object. */
  readonly name: string;
  readonly path: string;
  /** The key prefix of the resource's objects. */
  readonly prefix: string;
  readonly make: (name: string) => Json;
}

const REQUESTS = { devices: { requests: [{ name: "one", exactly: { deviceClassName: "any", count: 2 } }] } };

export const DEVICE_CLASSES: Subject = {
  name: "resource.k8s.io.deviceclasses",
  path: `/apis/${AFTER}/deviceclasses`,
  prefix: "/registry/deviceclasses/",
  make: (name) => ({
    apiVersion: AFTER,
    kind: "DeviceClass",
    metadata: { name },
    spec: { selectors: [{ cel: { expression: 'device.driver == "example.com"' } }] },
  }),
};

export const RESOURCE_CLAIMS: Subject = {
  name: "resource.k8s.io.resourceclaims",
  path: `/apis/${AFTER}/namespaces/default/resourceclaims`,
  prefix: "/registry/resourceclaims/default/",
  make: (name) => ({ apiVersion: AFTER, kind: "ResourceClaim", metadata: { name }, spec: REQUESTS }),
};

const CLAIM_TEMPLATES: Subject = {
  name: "resource.k8s.io.resourceclaimtemplates",
  path: `/apis/${AFTER}/namespaces/default/resourceclaimtemplates`,
  prefix: "/registry/resourceclaimtemplates/default/",
  make: (name) => ({
    apiVersion: AFTER,
    kind: "ResourceClaimTemplate",
    metadata: { name },
    spec: { metadata: { labels: { made: "from-template" } }, spec: REQUESTS },
  }),
};

/** A resource that both releases write in the same version. */
const CONFIG_MAPS: Subject = {
  name: "core.configmaps",
  path: "/api/v1/namespaces/default/configmaps",
  prefix: "/registry/configmaps/default/",
  make: (name) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } }),
};

export const MIGRATED: readonly Subject[] = [DEVICE_CLASSES, RESOURCE_CLAIMS, CLAIM_TEMPLATES];
export const SUBJECTS: readonly Subject[] = [...MIGRATED, CONFIG_MAPS];

export interface Polled<T> {
  readonly value: T;
  /** The number of polls, including the last one. */
  readonly polls: number;
  readonly ms: number;
}

/** Repeats the call until its result is accepted. */
export async function poll<T>(ask: () => Promise<T>, isDone: (value: T) => boolean): Promise<Polled<T>> {
  const startedAt = Date.now();
  for (let polls = 1; ; polls++) {
    const value = await ask();
    const ms = Date.now() - startedAt;
    if (isDone(value)) return { value, polls, ms };
    if (ms > DEADLINE_MS)
      throw new Error(`condition not met after ${polls} polls in ${ms} ms: ${JSON.stringify(value)?.slice(0, 2_000)}`);
    await delay(POLL_MS);
  }
}

/** Processes the items, a limited number at a time. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async (): Promise<void> => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** A stored object, parsed as JSON. Its name is the key without the prefix of the resource. */
export interface Raw {
  readonly name: string;
  readonly apiVersion: string;
  readonly object: Json;
}

export async function rawObjects(kv: Kv, { prefix }: Pick<Subject, "prefix">): Promise<Raw[]> {
  const { items } = await kv.range({ start: prefix, end: prefixEnd(prefix) });
  return items.map(({ key, value }) => {
    const object = JSON.parse(value.toString("utf8"));
    return { name: key.slice(prefix.length), apiVersion: object.apiVersion, object };
  });
}

/** The number of stored objects of the resource, keyed by version. */
export async function rawCounts(kv: Kv, subject: Subject): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { apiVersion } of await rawObjects(kv, subject)) counts[apiVersion] = (counts[apiVersion] ?? 0) + 1;
  return counts;
}

export async function storageVersions(server: Evenkeel): Promise<Map<string, Json>> {
  const { body } = await server.request("GET", STORAGE_VERSIONS);
  return new Map((body.items ?? []).map((object: Json) => [object.metadata.name, object.status]));
}

/** The common encoding version and the condition in the status of a StorageVersion. */
export function agreement(status: Json): { readonly common: string | undefined; readonly condition: string } {
  const { status: condition } = status?.conditions?.[0] ?? {};
  return { common: status?.commonEncodingVersion, condition };
}

export function isAgreed(status: Json, version: string): boolean {
  const { common, condition } = agreement(status);
  return common === version && condition === "True";
}

/** The stored versions of the resource as the server has recorded them. */
export async function storageState(server: Evenkeel, { name }: Pick<Subject, "name">): Promise<Json> {
  const { body } = await server.request("GET", STATE);
  return JSON.parse(body.data?.[name] ?? "{}");
}

/** The sum of a metric over all servers, because any of them may lead the controllers. */
export async function metricSum(servers: readonly Evenkeel[], line: string): Promise<number> {
  const responses = await Promise.all(servers.map((server) => server.request("GET", "/metrics")));
  return responses
    .flatMap(({ text }) => text.split("\n"))
    .filter((one) => one.startsWith(`${line} `))
    .reduce((sum, one) => sum + Number(one.slice(line.length + 1)), 0);
}

export function migrationsEnded({ name }: Subject, result: string): string {
  return `evenkeel_storage_migrations_total{resource="${name}",result="${result}"}`;
}

/** The uid of each object in a list, keyed by name. */
export async function listed(server: Evenkeel, { path }: Subject): Promise<Record<string, string>> {
  const { status, body } = await server.request("GET", path);
  if (status !== 200) throw new Error(`${path} is ${status}`);
  return Object.fromEntries(body.items.map(({ metadata }: Json) => [metadata.name, metadata.uid]));
}
