/**
 * Reads from a StorageVersion object, for a migration, the version that all servers write, or why they do not agree.
 */
import type { JsonObject } from "../../../meta/json.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";
import { decodeStatus } from "../decode-status.ts";
import { ALL_ENCODING_VERSIONS_EQUAL, type ServerStorageVersion, type StorageVersionObject } from "../objects.ts";

export interface AgreedVersion {
  /** The version that every server writes. */
  readonly version: string;
  /**
   * The resourceVersion of the StorageVersion object. While the object has this resourceVersion, no server writes
   * another version.
   */
  readonly resourceVersion: string;
  /** The time since which the servers agree, from the condition; empty if the condition has no time. */
  readonly since: string;
  /** The served versions without their group, in order of preference. */
  readonly servedVersions: readonly string[];
  /** Whether no server can read any other version, so that no object can be stored in another one. */
  readonly isOnlyVersion: boolean;
}

/** Undefined while there is no agreement. */
export function agreedVersion(object: StorageVersionObject): AgreedVersion | undefined {
  const { storageVersions: entries = [], commonEncodingVersion: version } = statusOf(object);
  const condition = conditionOf(object);
  const isAgreed = entries.length > 0 && entries.every(({ encodingVersion }) => encodingVersion === version);
  if (version === undefined || condition?.status !== "True" || !isAgreed) return undefined;
  return {
    version,
    resourceVersion: object.metadata?.resourceVersion ?? "",
    since: condition.lastTransitionTime ?? "",
    servedVersions: servedVersions(entries, version),
    isOnlyVersion: entries.every(({ decodableVersions }) => isOnly(decodableVersions, version)),
  };
}

/**
 * Conditions have times in whole seconds. An observation this much later than the transition was certainly made after
 * it.
 */
const SETTLED_MS = 2_000;

/** Whether the servers have agreed on the same version without interruption since the earlier agreement was seen. */
export function isSameAgreement(
  before: Pick<AgreedVersion, "version" | "resourceVersion" | "since">,
  now: AgreedVersion,
  seenAtMs: number,
): boolean {
  if (now.version !== before.version) return false;
  if (now.resourceVersion === before.resourceVersion) return true;
  // The object has changed, but the agreement did not end in between: its end would have changed the transition time.
  return now.since === before.since && seenAtMs - Date.parse(before.since) >= SETTLED_MS;
}

/**
 * Whether a server with these decodable versions can read only this version. A server that lists none may read any
 * version.
 */
function isOnly(versions: readonly string[], version: string): boolean {
  return versions.length > 0 && versions.every((other) => other === version);
}

/** Every version that a server writes at present. */
export function encodingVersions(object: StorageVersionObject): readonly string[] {
  const entries = statusOf(object).storageVersions ?? [];
  return [...new Set(entries.map(({ encodingVersion }) => encodingVersion).filter((version) => version !== ""))];
}

/** Describes, for a condition message, which servers prevent an agreement. */
export function disagreement(object: StorageVersionObject): string {
  const condition = conditionOf(object);
  if (condition?.status === "Unknown" && condition.message !== "") return condition.message;
  const entries = statusOf(object).storageVersions ?? [];
  if (entries.length === 0) return "no server has published its storage version";
  return entries.map(({ apiServerID, encodingVersion }) => `${apiServerID} writes ${encodingVersion}`).join(", ");
}

function statusOf(object: StorageVersionObject): ReturnType<typeof decodeStatus> {
  return decodeStatus(object as unknown as JsonObject);
}

function conditionOf({
  status,
}: StorageVersionObject): { status: string; message: string; lastTransitionTime?: string } | undefined {
  const conditions: unknown = status?.conditions;
  if (!Array.isArray(conditions)) return undefined;
  const found = (conditions as Partial<JsonObject>[]).find(
    (condition) => condition?.["type"] === ALL_ENCODING_VERSIONS_EQUAL,
  );
  if (found === undefined) return undefined;
  const { status: state, message, lastTransitionTime } = found;
  return {
    status: typeof state === "string" ? state : "",
    message: typeof message === "string" ? message : "",
    ...(typeof lastTransitionTime === "string" ? { lastTransitionTime } : {}),
  };
}

/**
 * Versions that more servers serve come first. Among versions that equally many serve, the stored version comes first,
 * because it needs no conversion.
 */
function servedVersions(entries: readonly ServerStorageVersion[], stored: string): readonly string[] {
  const servers = new Map<string, number>();
  for (const { servedVersions: served = [] } of entries)
    for (const version of new Set(served)) servers.set(version, (servers.get(version) ?? 0) + 1);
  const rank = (version: string): number => (servers.get(version) ?? 0) * 2 + (version === stored ? 1 : 0);
  return [...servers.keys()]
    .sort((left, right) => rank(right) - rank(left) || (left < right ? -1 : 1))
    .map((version) => parseGroupVersion(version).version);
}
