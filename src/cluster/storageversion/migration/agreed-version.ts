/**
 * Reads the agreement from a StorageVersion object for a migration: the version that all servers write, or why they do
 * not agree.
 */
import type { JsonObject } from "../../../meta/json.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";
import { decodeStatus } from "../decode-status.ts";
import { ALL_ENCODING_VERSIONS_EQUAL, type ServerStorageVersion, type StorageVersionObject } from "../objects.ts";

export interface AgreedVersion {
  /** The version that every server writes. */
  readonly version: string;
  /** The resourceVersion of the StorageVersion object: while it has this one, no server has written another version. */
  readonly resourceVersion: string;
  /** When the servers came to agree, from the condition; empty if the condition has no time. */
  readonly since: string;
  /** Without group, best first. */
  readonly servedVersions: readonly string[];
  /** No server can read any other version, so no other can be stored. */
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

/** Conditions have times in seconds: an observation this long after the transition was made after it. */
const SETTLED_MS = 2_000;

/** Whether servers have agreed on the same version all the time since the agreement was seen. */
export function isSameAgreement(
  before: Pick<AgreedVersion, "version" | "resourceVersion" | "since">,
  now: AgreedVersion,
  seenAtMs: number,
): boolean {
  if (now.version !== before.version) return false;
  if (now.resourceVersion === before.resourceVersion) return true;
  // The object changed, but each end of an agreement changes its transition time.
  return now.since === before.since && seenAtMs - Date.parse(before.since) >= SETTLED_MS;
}

/** A server that lists no decodable versions may read any version. */
function isOnly(versions: readonly string[], version: string): boolean {
  return versions.length > 0 && versions.every((other) => other === version);
}

/** Every version that a server writes at present. */
export function encodingVersions(object: StorageVersionObject): readonly string[] {
  const entries = statusOf(object).storageVersions ?? [];
  return [...new Set(entries.map(({ encodingVersion }) => encodingVersion).filter((version) => version !== ""))];
}

/** A text for people that names the servers in the way of an agreement. */
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
 * Versions that all servers serve come before those that some serve; among equals the stored version comes first,
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
