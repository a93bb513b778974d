/**
 * The state of one resource: the versions in which its objects may be stored, and the position of its migration. It is
 * a text in the ConfigMap of `storage-state.ts`.
 */
import { objectAt, objectsAt, parseJsonObject, stringAt, type JsonObject } from "../../../meta/json.ts";
import {
  STATE_FAILURES_MAX,
  STATE_TEXT_CHARACTERS_MAX,
  STATE_TOKEN_CHARACTERS_MAX,
  STATE_VERSIONS_MAX,
} from "./migration-limits.ts";
import type { ObjectFailure, Position } from "./progress.ts";

/** Means any version, as in the external storage version migrator. */
export const UNKNOWN_VERSION = "Unknown";

export interface StorageState {
  /** All versions in which objects may be stored. */
  readonly persistedVersions: readonly string[];
  /** The version that servers write, as last seen. */
  readonly currentVersion: string;
  readonly lastHeartbeatTime?: string;
  /** Set when all objects are known to be stored in one version. */
  readonly verified?: Verification;
  /** A migration that is running or has failed. */
  readonly migration?: MigrationRecord;
}

/** Identifies the agreement under which all objects were found to be stored in one version. */
export interface Verification {
  /** The resourceVersion of the StorageVersion object. */
  readonly resourceVersion: string;
  /** The time since which the servers agreed; may be empty. */
  readonly since: string;
  /** When the result was recorded. */
  readonly time: string;
}

export interface MigrationRecord {
  /** The uid of a StorageVersionMigration, or a fixed value for the automatic mode. */
  readonly owner: string;
  readonly version: string;
  /**
   * The resourceVersion of the StorageVersion object when the pass began; empty if there was none. If it has changed,
   * the pass is not resumed.
   */
  readonly resourceVersion: string;
  readonly startTime: string;
  readonly result: "Running" | "Failed";
  readonly position: Position;
  readonly total?: number;
}

export const UNKNOWN_STATE: StorageState = { persistedVersions: [UNKNOWN_VERSION], currentVersion: UNKNOWN_VERSION };

export function parseStorageState(text: string | undefined): StorageState {
  if (text === undefined) return UNKNOWN_STATE;
  const value = parseJsonObject(text);
  const persisted = value?.["persistedVersions"];
  const currentVersion = value?.["currentVersion"];
  if (value === undefined || !isVersionList(persisted) || !isVersion(currentVersion)) return UNKNOWN_STATE;
  const verified = parseVerification(objectAt(value, "verified"));
  const migration = parseMigration(objectAt(value, "migration"));
  const lastHeartbeatTime = stringAt(value, "lastHeartbeatTime");
  return {
    persistedVersions: [...new Set(persisted)],
    currentVersion,
    ...(isTime(lastHeartbeatTime) ? { lastHeartbeatTime } : {}),
    ...(verified === undefined ? {} : { verified }),
    ...(migration === undefined ? {} : { migration }),
  };
}

/** Adds versions that may be stored. */
export function withPersisted(state: StorageState, versions: readonly string[]): StorageState {
  const united = [...new Set([...state.persistedVersions, ...versions])];
  if (united.length === state.persistedVersions.length) return state;
  return { ...state, persistedVersions: united.length > STATE_VERSIONS_MAX ? [UNKNOWN_VERSION] : united };
}

/** The position, truncated to the limits of a state. If the token does not fit, the position is the beginning. */
export function storedPosition({ continueToken, migrated, failed, failures }: Position): Position {
  if (continueToken.length > STATE_TOKEN_CHARACTERS_MAX)
    return { continueToken: "", migrated: 0, failed: 0, failures: [] };
  const listed = failures.slice(0, STATE_FAILURES_MAX).map(({ object, message }) => ({
    object: object.slice(0, STATE_TEXT_CHARACTERS_MAX * 2),
    message: message.slice(0, STATE_TEXT_CHARACTERS_MAX),
  }));
  return { continueToken, migrated, failed, failures: listed };
}

function parseVerification(value: JsonObject): Verification | undefined {
  const resourceVersion = stringAt(value, "resourceVersion");
  const since = stringAt(value, "since");
  const time = stringAt(value, "time");
  const isWhole = resourceVersion !== "" && (since === "" || isTime(since)) && isTime(time);
  return isWhole ? { resourceVersion, since, time } : undefined;
}

function parseMigration(value: JsonObject): MigrationRecord | undefined {
  const { result, total } = value;
  const owner = stringAt(value, "owner");
  const version = value["version"];
  const startTime = stringAt(value, "startTime");
  if (owner === "" || !isVersion(version) || !isTime(startTime) || (result !== "Running" && result !== "Failed"))
    return undefined;
  return {
    owner,
    version,
    resourceVersion: stringAt(value, "resourceVersion"),
    startTime,
    result,
    position: parsePosition(objectAt(value, "position")),
    ...(isCount(total) ? { total } : {}),
  };
}

function parsePosition(value: JsonObject): Position {
  const { migrated, failed } = value;
  return {
    continueToken: stringAt(value, "continueToken"),
    migrated: isCount(migrated) ? migrated : 0,
    failed: isCount(failed) ? failed : 0,
    failures: objectsAt(value, "failures").slice(0, STATE_FAILURES_MAX).map(toFailure),
  };
}

function toFailure(value: JsonObject): ObjectFailure {
  return { object: stringAt(value, "object"), message: stringAt(value, "message") };
}

function isVersionList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.length <= STATE_VERSIONS_MAX && value.every(isVersion);
}

function isVersion(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= STATE_TEXT_CHARACTERS_MAX * 2;
}

function isTime(text: string): boolean {
  return text.length <= 64 && !Number.isNaN(Date.parse(text));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
