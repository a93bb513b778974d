/** Checks that a resource that is reported as migrated is stored in one version. */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../src/meta/json.ts";
import { storageVersionName } from "../../../src/cluster/storageversion/objects.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { STORAGE_VERSIONS, type EncodingRecord } from "../encoding-record.ts";
import type { Commit } from "../../../src/tools/simulator/history.ts";
import { HistoryMap } from "../history-map.ts";

const STATE = "configmaps/kube-system/evenkeel-storage-state";
const MIGRATIONS = "storageversionmigrations/";

/**
 * The storage state of a resource must be true when it is written. A StorageVersionMigration may succeed if all objects
 * were stored in the common version at some moment after its creation; later writes do not matter.
 */
export function migratedIsMigrated(record: EncodingRecord): GuaranteeChecker {
  /** For each resource name, the last revision at which all objects were stored in the common version. */
  const unmixedAt = new HistoryMap<string, number>(record.history);
  const isUnmixed = (name: string): boolean => {
    const common = record.status(name)?.commonEncodingVersion;
    return common !== undefined && record.storedVersions(name).every((version) => version === common);
  };
  const note = ({ key, revision, sending }: Commit): void => {
    const run = sending && record.runOf(sending);
    const name = key.startsWith(STORAGE_VERSIONS)
      ? key.slice(STORAGE_VERSIONS.length)
      : run && record.resourceAt(run, key)?.name;
    if (name !== undefined && isUnmixed(name)) unmixedAt.set(name, revision);
  };
  const judgeState = ({ before, after }: Commit): string[] =>
    Object.entries(objectAt(after ?? {}, "data")).flatMap(([name, text]) => {
      const was = objectAt(before ?? {}, "data")[name];
      const now = text === was ? undefined : soleVersion(text);
      if (now === undefined || soleVersion(was) === now) return [];
      const others = record.storedVersions(name).filter((version) => version !== now);
      return others.length === 0
        ? []
        : [`${name} is reported as stored only in ${now}, but ${others.join(", ")} is stored too`];
    });
  const judgeMigration = ({ key, before, after, revision }: Commit, createdAt: number): string[] => {
    if (hasSucceeded(before) || !hasSucceeded(after)) return [];
    const { group, resource } = objectAt(objectAt(after!, "spec"), "resource");
    const name = storageVersionName(String(group ?? ""), String(resource));
    if (isUnmixed(name) || (unmixedAt.get(name) ?? 0) >= createdAt) return [];
    const versions = record.storedVersions(name).join(", ");
    return versions === "" ? [] : [`${key} succeeded at revision ${revision} while ${name} is stored in ${versions}`];
  };
  const created = new HistoryMap<string, number>(record.history);
  return {
    name: "migrated-is-migrated",
    promise: "A resource that is reported as migrated is stored in one version.",
    onCommit(commit) {
      const { key, before, revision } = commit;
      note(commit);
      if (key === STATE) return judgeState(commit);
      if (!key.startsWith(MIGRATIONS)) return NO_VIOLATIONS;
      if (before === undefined) created.set(key, revision);
      return judgeMigration(commit, created.get(key) ?? 0);
    },
  };
}

function soleVersion(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const state: unknown = JSON.parse(text);
  const versions = isJsonObject(state) ? stringsAt(state, "persistedVersions") : [];
  return versions.length === 1 && versions[0] !== "Unknown" ? versions[0] : undefined;
}

function hasSucceeded(object: JsonObject | undefined): boolean {
  const conditions = objectAt(object ?? {}, "status")["conditions"];
  if (!Array.isArray(conditions)) return false;
  return (conditions as unknown[])
    .filter(isJsonObject)
    .some((condition) => stringAt(condition, "type") === "Succeeded" && stringAt(condition, "status") === "True");
}
