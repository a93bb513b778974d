/** Describes the feature gates of `evenkeel up` that have no effect, because servers do not have them. */
import { resolveRelease } from "../../../objects/catalog/release-options.ts";
import type { ServerSpec } from "./server-spec.ts";

/** Returns one line for each gate and problem, even if several servers have it. */
export function gateWarnings(specs: readonly ServerSpec[], featureGates: readonly string[]): string[] {
  const releases = new Set(specs.map(({ release }) => release));
  const ignored = [...releases].flatMap((release) => resolveRelease({ release, featureGates }).ignoredGates);
  return [...new Set(ignored.map(({ gate, problem }) => `Warning: feature gate ${gate} is ignored: ${problem}`))];
}
