/** Whether a pod keeps to a level of security, as some version of kubernetes has understood it. */
import type { CheckPod, PodLike, Violation } from "./check.ts";
import { HOST_CHECKS } from "./host-checks.ts";
import type { LevelVersion } from "./policy.ts";
import { PRIVILEGE_CHECKS } from "./privilege-checks.ts";
import { PROFILE_CHECKS } from "./profile-checks.ts";

/** The checks of the baseline first, each in the order of the alphabet. */
const CHECKS = [...HOST_CHECKS, ...PRIVILEGE_CHECKS, ...PROFILE_CHECKS].sort((left, right) =>
  left.level + left.id < right.level + right.id ? -1 : 1,
);

/** The newest version that changed something. */
const MINOR_MAX = Math.max(...CHECKS.flatMap(({ versions }) => versions.map(([since]) => since)));

/** `serverMinor`: what the latest is. */
export function violations(pod: PodLike, { level, minor }: LevelVersion, serverMinor: number): readonly Violation[] {
  if (level === "privileged") return [];
  const effective = Math.min(minor ?? MINOR_MAX, serverMinor, MINOR_MAX);
  const valid = CHECKS.filter((check) => level === "restricted" || check.level === "baseline").flatMap((check) => {
    const version = check.versions.findLast(([since]) => since <= effective);
    return version === undefined ? [] : [{ ...check, check: version[1] }];
  });
  const overridden = new Set(valid.map(({ overrides }) => overrides));
  return valid.filter(({ id }) => !overridden.has(id)).flatMap(({ check }) => found(check, pod));
}

function found(check: CheckPod, pod: PodLike): readonly Violation[] {
  const violation = check(pod);
  return violation === undefined ? [] : [violation];
}

export function detailsText(all: readonly Violation[]): string {
  return all.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
}

export function reasonsText(all: readonly Violation[]): string {
  return all.map(({ reason }) => reason).join(", ");
}
