/** Checks that the common version of a resource does not move back without a reason. */
import { compareApiVersions } from "../../../src/serving/discovery/order.ts";
import { parseGroupVersion } from "../../../src/meta/group-version.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import { HistoryMap } from "../history-map.ts";
import { STORAGE_VERSIONS, type EncodingRecord } from "../encoding-record.ts";

interface Remembered {
  /** The last common version of the StorageVersion object. */
  readonly common: string | undefined;
  /** Encoding versions in the entries that servers have written since the object last had a common version. */
  readonly said: ReadonlySet<string>;
}

/**
 * The common version may move back if a server that writes the older version has joined and published it. It must not
 * move back only because another server is absent.
 */
export function neverBack(record: EncodingRecord): GuaranteeChecker {
  const objects = new HistoryMap<string, Remembered>(record.history);
  const saidOf = (name: string, serverId: string | undefined): string | undefined =>
    record.status(name)?.storageVersions?.find(({ apiServerID }) => apiServerID === serverId)?.encodingVersion;
  return {
    name: "never-back",
    promise: "The common version moves to an older one only after a server that writes the older one has joined.",
    onCommit({ key, sending }) {
      if (!key.startsWith(STORAGE_VERSIONS)) return NO_VIOLATIONS;
      const name = key.slice(STORAGE_VERSIONS.length);
      const { common: before, said: saidBefore } = objects.get(name) ?? { common: undefined, said: new Set() };
      const own = saidOf(name, sending?.serverId);
      const said = own === undefined ? saidBefore : new Set([...saidBefore, own]);
      const common = record.status(name)?.commonEncodingVersion;
      objects.set(name, common === undefined ? { common: before, said } : { common, said: new Set() });
      if (common === undefined) return NO_VIOLATIONS;
      const isBack = before !== undefined && isOlder(common, before) && !said.has(common);
      return isBack
        ? [`${name} moved from ${before} back to ${common}, but no server that writes the older version had joined`]
        : NO_VIOLATIONS;
    },
  };
}

function isOlder(version: string, than: string): boolean {
  return compareApiVersions(parseGroupVersion(version).version, parseGroupVersion(than).version) > 0;
}
