/**
 * The gates of each release this project can be, made once when the program starts. `--feature-gates` does not change
 * them; a server that honors it for these would make gates of its own here, from its release and its flags.
 */
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

/** Of the newest release. */
export const NEWEST_GATES: ReleaseGates = gatesOf(must(RELEASES.at(-1), "there are releases"));
