/** Checks that servers write only versions that they have published and that all live servers can read. */
import { stringAt } from "../../../src/meta/json.ts";
import type { StoredResourceVersions } from "../../../src/cluster/storageversion/encodings.ts";
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import type { Commit } from "../../../src/tools/simulator/history.ts";
import type { Run } from "../../../src/tools/simulator/server.ts";

/** Compares the write with the entries at the revision of the write itself; earlier and later entries do not count. */
export function writtenAsPublished(record: EncodingRecord): GuaranteeChecker {
  const problemsOf = ({ key, after, atMs }: Commit, run: Run, resource: StoredResourceVersions): string[] => {
    const { name } = resource;
    const version = stringAt(after!, "apiVersion");
    const entries = record.status(name)?.storageVersions ?? [];
    const own = entries.find(({ apiServerID }) => apiServerID === run.serverId);
    const what = `${run.serverId} wrote ${key} in ${version}`;
    if (own === undefined) return [`${what}, without an entry in ${name}`];
    const problems: string[] = [];
    if (own.encodingVersion !== version) problems.push(`${what}, but its entry has ${own.encodingVersion}`);
    if (!isSameSet(own.decodableVersions, resource.decodable)) problems.push(`${what} by the entry of an earlier run`);
    for (const { apiServerID, decodableVersions } of entries)
      if (!decodableVersions.includes(version))
        problems.push(`${what}, which ${apiServerID} cannot read according to its entry`);
    for (const other of record.participants(name, atMs))
      if (!record.resourceNamed(other, name)?.decodable.includes(version))
        problems.push(`${what}, which ${other.serverId} (${other.release}) cannot read`);
    return problems;
  };
  return {
    name: "written-as-published",
    promise:
      "Every write is in the version that its server has published, and every live server that stores the resource can read it.",
    onCommit(commit) {
      const run = commit.sending && record.runOf(commit.sending);
      if (run === undefined || commit.after === undefined) return NO_VIOLATIONS;
      const resource = record.resourceAt(run, commit.key);
      return resource === undefined || resource.isNeededToPublish ? NO_VIOLATIONS : problemsOf(commit, run, resource);
    },
  };
}

function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((item) => right.includes(item));
}
