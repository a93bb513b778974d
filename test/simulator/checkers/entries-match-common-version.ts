/** Checks that the entries of a StorageVersion object agree with its common version. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { STORAGE_VERSIONS, type EncodingRecord } from "../encoding-record.ts";

/**
 * A missing entry is a violation only for live servers that have published their entry, because a fenced server may
 * have to publish its entry again. An entry that contradicts the common version is always a violation.
 */
export function entriesMatchCommonVersion(record: EncodingRecord): GuaranteeChecker {
  return {
    name: "nobody-contradicts",
    promise:
      "A StorageVersion object keeps the entry of every live server that has published it, and no entry contradicts its common version.",
    onCommit({ key, atMs, after }) {
      if (!key.startsWith(STORAGE_VERSIONS)) return NO_VIOLATIONS;
      const name = key.slice(STORAGE_VERSIONS.length);
      const { storageVersions: entries = [], commonEncodingVersion: common } = record.status(name) ?? {};
      const left = record
        .participants(name, atMs)
        .filter(({ serverId }) => !entries.some(({ apiServerID }) => apiServerID === serverId))
        .map(
          ({ serverId }) =>
            `${name} was ${after === undefined ? "deleted" : "written"} without an entry of ${serverId}`,
        );
      const contradicting = entries
        .filter(({ encodingVersion }) => common !== undefined && encodingVersion !== common)
        .map(
          (entry) =>
            `${name} has the common version ${common}, but ${entry.apiServerID} writes ${entry.encodingVersion}`,
        );
      return [...left, ...contradicting];
    },
  };
}
