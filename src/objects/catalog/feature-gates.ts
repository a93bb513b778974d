/**
 * Resolves the feature gates that control whether a resource exists. Gates of other features do not belong to the
 * catalog.
 */
import { storedResources } from "./data-files.ts";
import { valueIn, type ReleaseName } from "./release.ts";
import type { StoredGateState } from "./stored-format.ts";

/**
 * Maps AllAlpha and AllBeta to the stage whose gates they turn on or off. The setting of a single gate takes precedence
 * over them.
 */
const STAGE_GATES: ReadonlyMap<string, string> = new Map([
  ["AllAlpha", "Alpha"],
  ["AllBeta", "Beta"],
]);

/**
 * The gate names that `resolveFeatureGates` accepts for a release. Callers use it to select these gates from
 * --feature-gates, which also sets gates that do not control resources.
 */
export function catalogGateNames(release: ReleaseName): ReadonlySet<string> {
  return new Set([...STAGE_GATES.keys(), ...gateStates(release).keys()]);
}

/**
 * The state of every gate of the release after the overrides. Throws if the release does not have a gate that an
 * override names.
 */
export function resolveFeatureGates(
  release: ReleaseName,
  overrides: ReadonlyMap<string, boolean>,
): ReadonlyMap<string, boolean> {
  const states = gateStates(release);
  const unknown = [...overrides.keys()].filter((name) => !STAGE_GATES.has(name) && !states.has(name));
  if (unknown.length > 0) {
    throw new Error(`Release ${release} has no feature gate named ${unknown.join(", ")} that controls a resource.`);
  }
  const resolved = new Map<string, boolean>();
  for (const [name, state] of states) {
    const stageGate = [...STAGE_GATES].find(([, stage]) => stage === state.stage)?.[0];
    const byStage = stageGate === undefined ? undefined : overrides.get(stageGate);
    resolved.set(name, overrides.get(name) ?? byStage ?? state.on);
  }
  return resolved;
}

function gateStates(release: ReleaseName): ReadonlyMap<string, StoredGateState> {
  const states = new Map<string, StoredGateState>();
  for (const [name, points] of Object.entries(storedResources().gates)) {
    const state = valueIn(points, release);
    if (state !== undefined) states.set(name, state);
  }
  return states;
}
