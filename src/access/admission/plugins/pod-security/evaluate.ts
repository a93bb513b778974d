/** Evaluates a pod against a level of the Pod Security Standards, as defined in a given release. */
import type { CheckPod, PodLike, Violation } from "./check.ts";
import { HOST_CHECKS } from "./host-checks.ts";
import type { LevelVersion } from "./policy.ts";
import { PRIVILEGE_CHECKS } from "./privilege-checks.ts";
import { PROFILE_CHECKS } from "./profile-checks.ts";

/** All checks: first those of the baseline level, then those of the restricted level, each in alphabetical order. */
const CHECKS = [...HOST_CHECKS, ...PRIVILEGE_CHECKS, ...PROFILE_CHECKS].sort((left, right) =>
  left.level + left.id < right.level + right.id ? -1 : 1,
);

/** The newest minor version in which a check changed. */
const MINOR_MAX = Math.max(...CHECKS.flatMap(({ versions }) => versions.map(([since]) => since)));

/** `serverMinor` is the minor version to which "latest" refers; newer versions are treated like it. */
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
