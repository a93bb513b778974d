/**
 * Computes the status of a StorageVersion object from its entries, and whether a server may write according to that
 * status. The functions are pure, and every writer of an object uses them, so that all servers come to the same result.
 */
import { jsonEquals } from "../../meta/json.ts";
import { withImpliedEntries, type ImpliedFor } from "./implied-entries.ts";
import type { AgreementMember } from "./members.ts";
import {
  ALL_ENCODING_VERSIONS_EQUAL,
  type ServerStorageVersion,
  type StorageVersionCondition,
  type StorageVersionStatus,
} from "./objects.ts";

interface Settling {
  readonly live: ReadonlyMap<string, AgreementMember>;
  /** RFC 3339 with seconds. */
  readonly now: string;
  /** An entry to insert, or to replace the entry of its server. */
  readonly own?: ServerStorageVersion;
  /** The resource of the object, if entries of servers that publish none are to be added. */
  readonly resource?: ImpliedFor;
}

/**
 * Returns the status without stale entries, with the given entry and the implied ones, and with the conditions that
 * follow from the entries.
 */
export function settle(status: StorageVersionStatus, { live, now, own, resource }: Settling): StorageVersionStatus {
  const published = withEntry(status.storageVersions ?? [], own);
  const entries = [...(resource === undefined ? published : withImpliedEntries(published, resource, live))]
    .filter(({ apiServerID }) => live.has(apiServerID))
    .sort((left, right) => (left.apiServerID < right.apiServerID ? -1 : 1));
  const pending = pendingServers(entries, live);
  const common = pending.length === 0 ? commonVersion(entries) : undefined;
  const settled: StorageVersionStatus = {
    ...(entries.length === 0 ? {} : { storageVersions: entries }),
    ...(common === undefined ? {} : { commonEncodingVersion: common }),
    conditions: withCondition(status, { common, pending, now }),
  };
  return jsonEquals(settled, status) ? status : settled;
}

/** The version in which all entries encode; undefined if they differ or there are none. */
export function commonVersion(entries: readonly ServerStorageVersion[]): string | undefined {
  const [first] = entries;
  return entries.every(({ encodingVersion }) => encodingVersion === first?.encodingVersion)
    ? first?.encodingVersion
    : undefined;
}

/**
 * Live servers, sorted by ID, that may store the resource and have not published yet. A server whose component (the API
 * server program, such as kube-apiserver) differs from those of all entries does not count, because it stores other
 * resources. Without entries, every server counts.
 */
export function pendingServers(
  entries: readonly ServerStorageVersion[],
  live: ReadonlyMap<string, AgreementMember>,
): readonly string[] {
  const registered = new Set(entries.map(({ apiServerID }) => apiServerID));
  const members = entries.flatMap(({ apiServerID }) => live.get(apiServerID) ?? []);
  const components = new Set(members.map(({ component }) => component));
  return [...live.values()]
    .filter(({ id, isPublished }) => !isPublished && !registered.has(id))
    .filter(({ component }) => components.size === 0 || components.has(component))
    .map(({ id }) => id)
    .sort();
}

/** The versions in which a server can write and read a resource. */
export interface StoredVersions {
  /** The version that the release of the server writes. */
  readonly preferred: string;
  readonly decodable: readonly string[];
  /** The decodable versions in order of preference. Absent if `decodable` is already in this order. */
  readonly fallbacks?: readonly string[];
}

/** Chooses the version to write so that all other servers can read it; undefined if there is none. */
export function chooseEncoding(
  { preferred, decodable, fallbacks = decodable }: StoredVersions,
  others: readonly ServerStorageVersion[],
): string | undefined {
  return [preferred, ...fallbacks].find((version) => isReadableBy(others, version));
}

type Writability =
  | { readonly kind: "open"; readonly version: string }
  | { readonly kind: "closed"; readonly because: string };

/** Whether a server may write according to an object, and in which version. */
export function writability(status: StorageVersionStatus, serverId: string): Writability {
  const entries = status.storageVersions ?? [];
  const own = entries.find(({ apiServerID }) => apiServerID === serverId);
  if (own === undefined) return { kind: "closed", because: "this server has no entry in the StorageVersion object" };
  const blind = entries.filter((entry) => !isReadableBy([entry], own.encodingVersion));
  if (blind.length === 0) return { kind: "open", version: own.encodingVersion };
  const ids = blind.map(({ apiServerID }) => apiServerID).join(", ");
  return { kind: "closed", because: `this server writes ${own.encodingVersion}, which ${ids} cannot read` };
}

function isReadableBy(entries: readonly ServerStorageVersion[], version: string): boolean {
  return entries.every(({ decodableVersions }) => decodableVersions.includes(version));
}

function withEntry(
  entries: readonly ServerStorageVersion[],
  own: ServerStorageVersion | undefined,
): readonly ServerStorageVersion[] {
  if (own === undefined) return entries;
  const isThere = entries.some(({ apiServerID }) => apiServerID === own.apiServerID);
  if (!isThere) return [...entries, own];
  return entries.map((entry) => (entry.apiServerID === own.apiServerID ? own : entry));
}

function withCondition(
  before: StorageVersionStatus,
  { common, pending, now }: { common: string | undefined; pending: readonly string[]; now: string },
): readonly StorageVersionCondition[] {
  const conditions = before.conditions ?? [];
  const known = conditions.find(({ type }) => type === ALL_ENCODING_VERSIONS_EQUAL);
  const next = { type: ALL_ENCODING_VERSIONS_EQUAL, ...stated(common, pending) };
  // As kubernetes: if the common version changes, the transition time changes although the condition stays True.
  const hasMoved = common !== undefined && common !== before.commonEncodingVersion;
  const isTransition = known?.status !== next.status || (hasMoved && before.commonEncodingVersion !== undefined);
  const condition = { ...next, lastTransitionTime: isTransition ? now : (known?.lastTransitionTime ?? now) };
  if (known === undefined) return [...conditions, condition];
  return conditions.map((other) => (other === known ? condition : other));
}

function stated(
  common: string | undefined,
  pending: readonly string[],
): Pick<StorageVersionCondition, "status" | "reason" | "message"> {
  if (pending.length > 0)
    return {
      status: "Unknown",
      reason: "ServersPending",
      message: `Waiting for the storage versions of ${pending.join(", ")}`,
    };
  return common === undefined
    ? { status: "False", reason: "CommonEncodingVersionUnset", message: "Common encoding version unset" }
    : { status: "True", reason: "CommonEncodingVersionSet", message: "Common encoding version set" };
}
