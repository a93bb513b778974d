import { compareApiVersions } from "../../../src/serving/discovery/order.ts";
import { parseGroupVersion } from "../../../src/meta/group-version.ts";
import { NONE_BROKEN, type PromiseChecker } from "../../../src/tools/simulator/checker.ts";
import { STORAGE_VERSIONS, type EncodingRecord } from "../encoding-record.ts";

interface Remembered {
  /** The common version there was last. */
  common: string | undefined;
  /** What servers have said of themselves since the object last had it. */
  readonly said: Set<string>;
}

/**
 * Going back is right when a server that writes the older version has come: then it was this server that said so. It
 * never follows from somebody's absence alone.
 */
export function neverBack(record: EncodingRecord): PromiseChecker {
  const objects = new Map<string, Remembered>();
  const saidOf = (name: string, serverId: string | undefined): string | undefined =>
    record.status(name)?.storageVersions?.find(({ apiServerID }) => apiServerID === serverId)?.encodingVersion;
  return {
    name: "never-back",
    promise: "The common version moves to an older one only when a server has come that writes the older one.",
    onCommit({ key, sending }) {
      if (!key.startsWith(STORAGE_VERSIONS)) return NONE_BROKEN;
      const name = key.slice(STORAGE_VERSIONS.length);
      const known = objects.get(name) ?? { common: undefined, said: new Set() };
      objects.set(name, known);
      const said = saidOf(name, sending?.serverId);
      if (said !== undefined) known.said.add(said);
      const common = record.status(name)?.commonEncodingVersion;
      if (common === undefined) return NONE_BROKEN;
      const { common: before } = known;
      const isBack = before !== undefined && isOlder(common, before) && !known.said.has(common);
      known.common = common;
      known.said.clear();
      return isBack
        ? [`${name} went from ${before} back to ${common}, and nobody had come who writes it`]
        : NONE_BROKEN;
    },
  };
}

function isOlder(version: string, than: string): boolean {
  return compareApiVersions(parseGroupVersion(version).version, parseGroupVersion(than).version) > 0;
}
