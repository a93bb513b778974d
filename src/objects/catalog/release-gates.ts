/** The release gates of each release, created once when the program starts. `--feature-gates` does not change them. */
import { must } from "../../base/assert.ts";
import { createReleaseGates, type ReleaseGates } from "../release-gates.ts";
import { RELEASES, type ReleaseName } from "./release.ts";

const BY_RELEASE: ReadonlyMap<ReleaseName, ReleaseGates> = gatesByRelease();

function gatesByRelease(): Map<ReleaseName, ReleaseGates> {
  const made = new Map<ReleaseName, ReleaseGates>();
  let previous: ReleaseGates | undefined;
  for (const release of RELEASES) {
    previous = createReleaseGates(release, previous);
    made.set(release, previous);
  }
  return made;
}

export function gatesOf(release: ReleaseName): ReleaseGates {
  return must(BY_RELEASE.get(release), "every release has gates");
}

/** The gates of a release of the form 1.N that another server reports. It may be older or newer than those in the catalog. */
export function gatesOfAny(release: string): ReleaseGates {
  return BY_RELEASE.get(release as ReleaseName) ?? createReleaseGates(release);
}

/** The gates of the newest release. */
export const NEWEST_GATES: ReleaseGates = gatesOf(must(RELEASES.at(-1), "there are releases"));
