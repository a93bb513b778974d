/**
 * The record of the resources that one run of a server served. It stays in the store after the run has ended, so that
 * every server knows which resources have departed. Only built-in resources of the server's release are recorded;
 * whether custom and aggregated resources exist is decided by the store. Records come from disk and from other servers,
 * so every field is validated.
 */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";

export interface ServedRecord {
  readonly serverId: string;
  /** The host and port of a kube-apiserver whose ID is a guess. */
  readonly calledAt?: string | undefined;
  /** The ID of the run, different for each start of the server. */
  readonly incarnation: string;
  /** Undefined for a kube-apiserver, which does not publish it. */
  readonly release: string | undefined;
  /** RFC 3339 in UTC. */
  readonly servedAt: string;
  /** RFC 3339 in UTC; set by the server that notices that this run has ended. */
  readonly departedAt: string | undefined;
  /** True if the server itself recorded that its run ends with a graceful shutdown. Other runs count as crashed. */
  readonly isGraceful?: true | undefined;
  /**
   * Keyed by "group/version" ("/v1" for the core group). Values are resources and subresources, such as "pods" and
   * "pods/status".
   */
  readonly resources: ReadonlyMap<string, readonly string[]>;
}

export interface StoredServedRecord {
  readonly key: string;
  readonly revision: number;
  readonly record: ServedRecord;
}

const BYTES_MAX = 512 * 1024;
const RELEASE_LENGTH_MAX = 32;
const GROUP_VERSIONS_MAX = 2_000;
const RESOURCES_MAX = 20_000;
const NAME_LENGTH_MAX = 512;
/** The pattern also keeps the ID within one segment of a key. */
const ID_PATTERN = /^[A-Za-z0-9][\w.:-]{0,252}$/;
const TIME_PATTERN = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$/;

/** The key prefix of all records. `storageRoot` ends with a slash. */
export function servedRecordPrefix(storageRoot: string): string {
  return `${storageRoot}evenkeel/served/`;
}

export function servedRecordKey(
  storageRoot: string,
  { serverId, incarnation }: Pick<ServedRecord, "serverId" | "incarnation">,
): string {
  return `${servedRecordPrefix(storageRoot)}${serverId}/${incarnation}`;
}

/** The first fields of every stored value, by which a person who reads the store recognizes it. */
const HEAD = { kind: "ServedRecord", apiVersion: "evenkeel.io/v1", metadata: {} } as const;

/**
 * Returns undefined if no server could decode the record, because it is too large or contains invalid values of a lease
 * or a document.
 */
export function encodeServedRecord(record: ServedRecord): Buffer | undefined {
  const object = { ...HEAD, ...record, resources: Object.fromEntries(record.resources) };
  const value = Buffer.from(JSON.stringify(object));
  return value.length > BYTES_MAX || decodeRecord(object) === undefined ? undefined : value;
}

/** Returns undefined if the value is not a record, or does not belong to this key. */
export function decodeServedRecord(
  storageRoot: string,
  { key, value }: { readonly key: string; readonly value: unknown },
): ServedRecord | undefined {
  const record = decodeRecord(value);
  return record !== undefined && key === servedRecordKey(storageRoot, record) ? record : undefined;
}

/**
 * Converts the resources of a discovery document into the form of a record. Custom and aggregated resources must have
 * been removed before.
 */
export function recordedResources(groups: readonly DiscoveryGroup[]): ReadonlyMap<string, readonly string[]> {
  const recorded = new Map<string, string[]>();
  for (const group of groups) {
    for (const { version, freshness, resources } of group.versions) {
      if (freshness !== "Current" || resources.length === 0) continue;
      const names = resources.flatMap(({ resource, subresources }) => [
        resource,
        ...subresources.map(({ subresource }) => `${resource}/${subresource}`),
      ]);
      const groupVersion = `${group.name}/${version}`;
      recorded.set(groupVersion, [...(recorded.get(groupVersion) ?? []), ...names]);
    }
  }
  return recorded;
}

function decodeRecord(value: unknown): ServedRecord | undefined {
  if (!isJsonObject(value) || value["kind"] !== HEAD.kind) return undefined;
  const { serverId, calledAt, incarnation, release, servedAt, departedAt } = value;
  const resources = decodeResources(value["resources"]);
  if (!isId(serverId) || !isId(incarnation) || !isTime(servedAt) || resources === undefined) return undefined;
  if (release !== undefined && !isShort(release, RELEASE_LENGTH_MAX)) return undefined;
  if (departedAt !== undefined && !isTime(departedAt)) return undefined;
  if (calledAt !== undefined && !isShort(calledAt, NAME_LENGTH_MAX)) return undefined;
  const graceful = value["isGraceful"] === true ? { isGraceful: true as const } : {};
  const called = calledAt === undefined ? {} : { calledAt };
  return { serverId, ...called, incarnation, release, servedAt, departedAt, ...graceful, resources };
}

function decodeResources(value: unknown): ReadonlyMap<string, readonly string[]> | undefined {
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value satisfies JsonObject);
  if (entries.length > GROUP_VERSIONS_MAX) return undefined;
  const resources = new Map<string, readonly string[]>();
  let left = RESOURCES_MAX;
  for (const [groupVersion, names] of entries) {
    if (!isShort(groupVersion, NAME_LENGTH_MAX) || !Array.isArray(names)) return undefined;
    left -= names.length;
    if (left < 0 || !names.every((name) => isShort(name, NAME_LENGTH_MAX))) return undefined;
    resources.set(groupVersion, names);
  }
  return resources;
}

function isId(value: unknown): value is string {
  return typeof value === "string" && ID_PATTERN.test(value);
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && TIME_PATTERN.test(value);
}

function isShort(value: unknown, lengthMax: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= lengthMax;
}
