/** Checks that the common version of a resource does not move back without a reason. */
import { compareApiVersions } from "../../../src/serving/discovery/order.ts";
import { parseGroupVersion } from "../../../src/meta/group-version.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { STORAGE_VERSIONS, type EncodingRecord } from "../encoding-record.ts";

interface Remembered {
  /** The last common version of the StorageVersion object. */
  common: string | undefined;
  /** Encoding versions in the entries that servers have written since the object last had a common version. */
  readonly said: Set<string>;
}

/**
 * The common version may move back if a server that writes the older version has joined and published it. It must not
 * move back only because another server is absent.
 */
export function neverBack(record: EncodingRecord): GuaranteeChecker {
  const objects = new Map<string, Remembered>();
  const saidOf = (name: string, serverId: string | undefined): string | undefined =>
    record.status(name)?.storageVersions?.find(({ apiServerID }) => apiServerID === serverId)?.encodingVersion;
  return {
    name: "never-back",
    promise: "The common version moves to an older one only after a server that writes the older one has joined.",
    onCommit({ key, sending }) {
      if (!key.startsWith(STORAGE_VERSIONS)) return NO_VIOLATIONS;
      const name = key.slice(STORAGE_VERSIONS.length);
      const known = objects.get(name) ?? { common: undefined, said: new Set() };
      objects.set(name, known);
      const said = saidOf(name, sending?.serverId);
      if (said !== undefined) known.said.add(said);
      const common = record.status(name)?.commonEncodingVersion;
      if (common === undefined) return NO_VIOLATIONS;
      const { common: before } = known;
      const isBack = before !== undefined && isOlder(common, before) && !known.said.has(common);
      known.common = common;
      known.said.clear();
      return isBack
        ? [`${name} moved from ${before} back to ${common}, but no server that writes the older version had joined`]
        : NO_VIOLATIONS;
    },
  };
}

function isOlder(version: string, than: string): boolean {
  return compareApiVersions(parseGroupVersion(version).version, parseGroupVersion(than).version) > 0;
}
