/** The tables of an inspection: resources by bytes, the largest objects, and field managers by bytes. */
import type { ValueCollector } from "./collect/collector.ts";
import { bounded, type ResourceStat } from "./collect/resource-stats.ts";
import { definitionName } from "./custom-definitions.ts";
import { OTHERS, type LargeObject, type ManagerTally, type ResourceTally, type VersionTally } from "./inspection.ts";
import type { ByteStrings } from "./scan/byte-strings.ts";

const MANAGERS_MAX = 100;

export function resourceTallies(
  stats: readonly ResourceStat[],
  types: ByteStrings,
  definedNames: ReadonlySet<string>,
): ResourceTally[] {
  const used = stats.filter(({ objects }) => objects > 0).toSorted((a, b) => b.bytes - a.bytes);
  return used.map((stat) => ({
    group: bounded(stat.group),
    resource: bounded(stat.resource),
    origin: stat.place !== undefined ? "built-in" : definedNames.has(definitionName(stat)) ? "custom" : "unknown",
    objects: stat.objects,
    bytes: stat.bytes,
    encodings: { json: stat.json, protobuf: stat.protobuf, encrypted: stat.encrypted },
    versions: versionTallies(stat, types),
    unreadable: stat.unreadable,
  }));
}

function versionTallies({ versions }: ResourceStat, types: ByteStrings): VersionTally[] {
  const tallies = [...versions.values()].map(({ apiVersion, objects }) => ({
    apiVersion: bounded(types.textOf(apiVersion)),
    objects,
  }));
  return tallies.toSorted((a, b) => (a.apiVersion < b.apiVersion ? -1 : 1));
}

export function managerTallies({ writers, strings }: ValueCollector): ManagerTally[] {
  const all = writers.managers
    .map(({ manager, objects, bytes }) => ({ manager: bounded(strings.textOf(manager)), objects, bytes }))
    .toSorted((a, b) => b.bytes - a.bytes);
  const named = all.filter(({ manager }) => manager !== OTHERS);
  const rest = [...named.slice(MANAGERS_MAX), ...all.filter(({ manager }) => manager === OTHERS)];
  if (rest.length === 0) return named;
  const others = rest.reduce(
    (sum, { objects, bytes }) => ({ manager: OTHERS, objects: sum.objects + objects, bytes: sum.bytes + bytes }),
    { manager: OTHERS, objects: 0, bytes: 0 },
  );
  return [...named.slice(0, MANAGERS_MAX), others];
}

export function largestObjects({ largest }: ValueCollector): LargeObject[] {
  return largest.all.map(({ size, item }) => ({ name: item, bytes: size }));
}
