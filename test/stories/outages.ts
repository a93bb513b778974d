/**
 * Computes how long a resource was served by no server although a server had served it before, from the recorded runs
 * of the servers.
 */
import { formatGroupResource } from "../../src/meta/group-version.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

/** The total time between `fromMs` and `untilMs` in which at least one such resource was served by no server. */
export function outageMs(runs: readonly Run[], fromMs: number, untilMs: number): number {
  const moments = runs
    .flatMap(({ readyAtMs, endedAtMs }) => [readyAtMs ?? Infinity, endedAtMs ?? Infinity])
    .filter((atMs) => fromMs < atMs && atMs < untilMs);
  const steps = [fromMs, ...moments.toSorted((left, right) => left - right), untilMs];
  return steps.slice(1).reduce((sum, endMs, index) => {
    const startMs = steps[index]!;
    return isSomethingMissing(runs, startMs) ? sum + endMs - startMs : sum;
  }, 0);
}

/** Whether a resource that was served before is served by no server right after this moment. */
function isSomethingMissing(runs: readonly Run[], atMs: number): boolean {
  const begun = runs.filter(({ readyAtMs = Infinity }) => readyAtMs <= atMs);
  const living = begun.filter(({ endedAtMs = Infinity }) => endedAtMs > atMs);
  const served = new Set(living.flatMap(resourcesOf));
  return begun.flatMap(resourcesOf).some((resource) => !served.has(resource));
}

function resourcesOf({ groups }: Run): string[] {
  return groups.flatMap(({ name: group, versions }) =>
    versions.flatMap(({ resources }) => resources.map(({ resource }) => formatGroupResource({ group, resource }))),
  );
}
