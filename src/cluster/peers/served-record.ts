/**
 * The resources that one run of a server served, kept in the store beyond the end of the server: from these records
 * every server knows which resources have departed. Only built-in resources of the server's release are recorded;
 * custom and aggregated resources are decided by the current content of the store. Records come from disk and from
 * other servers, so every field is validated.
 */
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";

export interface ServedRecord {
  readonly serverId: string;
  /** Different for each start of the server. */
  readonly incarnation: string;
  /** Undefined for a kube-apiserver, which does not publish it. */
  readonly release: string | undefined;
  /** RFC 3339 in UTC. */
  readonly servedAt: string;
  /** RFC 3339 in UTC; set by the server that notices the end of this run. */
  readonly departedAt: string | undefined;
  /** By "group/version" ("/v1" is the core group's): "pods", "pods/status". */
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
/** Also keeps the ID within one segment of a key. */
const ID_PATTERN = /^[A-Za-z0-9][\w.:-]{0,252}$/;
const TIME_PATTERN = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$/;

/** The prefix of all records, below the storage root, which ends with a slash. */
export function servedRecordPrefix(storageRoot: string): string {
  return `${storageRoot}evenkeel/served/`;
}

export function servedRecordKey(
  storageRoot: string,
  { serverId, incarnation }: Pick<ServedRecord, "serverId" | "incarnation">,
): string {
  return `${servedRecordPrefix(storageRoot)}${serverId}/${incarnation}`;
}

/** The beginning of every stored value, by which a reader of the store recognizes it. */
const HEAD = { kind: "ServedRecord", apiVersion: "evenkeel.io/v1", metadata: {} } as const;

/** Undefined if no server could decode it, because a lease or a document contains invalid values. */
export function encodeServedRecord(record: ServedRecord): Buffer | undefined {
  const object = { ...HEAD, ...record, resources: Object.fromEntries(record.resources) };
  const value = Buffer.from(JSON.stringify(object));
  return value.length > BYTES_MAX || decodeRecord(object) === undefined ? undefined : value;
}

/** Undefined if the value is not a record, or is one of another key. */
export function decodeServedRecord(
  storageRoot: string,
  { key, value }: { readonly key: string; readonly value: unknown },
): ServedRecord | undefined {
  const record = decodeRecord(value);
  return record !== undefined && key === servedRecordKey(storageRoot, record) ? record : undefined;
}

/** The resources of a document in the form of a record; custom and aggregated resources must have been removed. */
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
  const { serverId, incarnation, release, servedAt, departedAt } = value;
  const resources = decodeResources(value["resources"]);
  if (!isId(serverId) || !isId(incarnation) || !isTime(servedAt) || resources === undefined) return undefined;
  if (release !== undefined && !isShort(release, RELEASE_LENGTH_MAX)) return undefined;
  if (departedAt !== undefined && !isTime(departedAt)) return undefined;
  return { serverId, incarnation, release, servedAt, departedAt, resources };
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
