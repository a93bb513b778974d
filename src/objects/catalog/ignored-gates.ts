/**
 * Finds the feature gates that a user has set although the release does not have them, so that a misspelled name does
 * not go unnoticed. DIFFERS: kube-apiserver rejects such gates; here they are reported and ignored, because one setting
 * is often shared by servers of several releases, and by other components.
 */
import { closestName } from "../../base/closest-name.ts";
import { storedGateNames } from "./data-files.ts";
import { gatesOf } from "./release-gates.ts";
import { isWithin, RELEASES, type ReleaseName } from "./release.ts";

export interface IgnoredGate {
  readonly gate: string;
  readonly problem: string;
}

/** The gates of this project, and those that stand for all gates of a stage. */
const IN_EVERY_RELEASE: readonly string[] = ["AllAlpha", "AllBeta", "VersionAwareProxying"];

interface GateSetting {
  readonly gate: string;
  readonly isOn: boolean;
}

type Range = readonly [first: ReleaseName, last: ReleaseName];

/** `release` is the release of the binary. */
export function ignoredGates(set: ReadonlyMap<string, boolean>, release: ReleaseName): readonly IgnoredGate[] {
  return [...set].flatMap(([gate, isOn]) => {
    const problem = problemOf({ gate, isOn }, release);
    return problem === undefined ? [] : [{ gate, problem }];
  });
}

function problemOf({ gate, isOn }: GateSetting, release: ReleaseName): string | undefined {
  if (IN_EVERY_RELEASE.includes(gate)) return undefined;
  if (gate === "AggregatedDiscoveryEndpoint" && !isOn && !gatesOf(release).isOn("AggregatedDiscoveryIsOptional"))
    return `aggregated discovery cannot be turned off in Kubernetes ${release}`;
  const ranges = storedGateNames().flatMap(([first, last, names]) =>
    names.includes(gate) ? [[first, last] satisfies Range] : [],
  );
  if (ranges.some((range) => isWithin(range, release))) return undefined;
  const [range] = ranges;
  if (range !== undefined) return `Kubernetes ${release} does not have this feature gate, only ${rangeText(range)}`;
  const suggestion = closest(gate, release);
  return `unknown feature gate${suggestion === undefined ? "" : `, did you mean ${suggestion}?`}`;
}

function rangeText([first, last]: Range): string {
  if (last === RELEASES.at(-1)) return `${first} and newer`;
  return first === last ? first : `${first} to ${last}`;
}

function closest(gate: string, release: ReleaseName): string | undefined {
  const names = storedGateNames().flatMap(([first, last, some]) => (isWithin([first, last], release) ? some : []));
  return closestName(gate, [...IN_EVERY_RELEASE, ...names]);
}
