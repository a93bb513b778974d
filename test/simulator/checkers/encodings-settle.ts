/** Checks that the StorageVersion objects of a settled cluster match its live servers, and that the servers accept writes. */
import type { GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../../src/tools/simulator/cluster.ts";
import type { EncodingRecord } from "../encoding-record.ts";
import type { Run, SimulatedServer } from "../../../src/tools/simulator/server.ts";

/** Longer than any server takes to respond. */
const PATIENCE_MS = 120_000;

export function encodingsSettle(record: EncodingRecord): GuaranteeChecker {
  return {
    name: "encodings-settle",
    promise:
      "After settling, StorageVersion objects match the live servers, and every resource on which servers can agree is writable.",
    async whenSettled(cluster) {
      const runs = cluster.live.flatMap(({ run }) => run ?? []);
      const stored = runs.flatMap((run) => [...record.resourcesOf(run)].map(({ name }) => name));
      const names = new Set([...stored, ...record.names]);
      const problems = [...names].flatMap((name) => objectProblems(record, name, runs));
      for (const server of cluster.live) problems.push(...(await writeProblems(cluster, server)));
      return problems;
    },
  };
}

function objectProblems(record: EncodingRecord, name: string, live: readonly Run[]): string[] {
  const { storageVersions: entries = [], commonEncodingVersion: common } = record.status(name) ?? {};
  const storing = live.filter((run) => record.resourceNamed(run, name) !== undefined).map(({ serverId }) => serverId);
  const problems: string[] = [];
  const said = entries.map(({ apiServerID }) => apiServerID).sort();
  if (said.join() !== storing.sort().join())
    problems.push(
      `${name} has entries of ${said.join(", ") || "no server"}, but ${storing.join(", ") || "no server"} stores the resource`,
    );
  const [first, ...rest] = entries;
  const doAgree = first !== undefined && rest.every(({ encodingVersion }) => encodingVersion === first.encodingVersion);
  if (doAgree !== (common !== undefined))
    problems.push(`${name} has the common version ${common}: ${JSON.stringify(entries)}`);
  const isReadByAll = (version: string): boolean =>
    entries.every(({ decodableVersions }) => decodableVersions.includes(version));
  if (first?.decodableVersions.some(isReadByAll))
    for (const { apiServerID, encodingVersion } of entries)
      if (!isReadByAll(encodingVersion))
        problems.push(`${apiServerID} cannot write ${name}, although all servers could agree on a version`);
  return problems;
}

async function writeProblems(cluster: SimulatedCluster, server: SimulatedServer): Promise<string[]> {
  const path = "/api/v1/namespaces/default/configmaps";
  const body = { metadata: { name: `settled-${server.id}` } };
  const response = await cluster.world.run(server.request({ method: "POST", target: path, body }), PATIENCE_MS);
  const text = await cluster.world.run(response.text(), PATIENCE_MS);
  return response.status === 201 ? [] : [`${server.id} responds to a write with ${response.status} ${text}`];
}
