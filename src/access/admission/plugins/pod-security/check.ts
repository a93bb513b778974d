/**
 * Common parts of the pod security checks: finding the containers that violate a check, and formatting the messages.
 */
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";

export interface PodLike {
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
}

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type CheckPod = (pod: PodLike) => Violation | undefined;

export interface PodSecurityCheck {
  readonly id: string;
  readonly level: "baseline" | "restricted";
  /** The versions of the check, oldest first, each with the minor version of the first release that it applies to. */
  readonly versions: readonly (readonly [since: number, check: CheckPod])[];
  /** The ID of the baseline check that this check replaces. */
  readonly overrides?: string;
}

export function containersOf({ spec }: PodLike): JsonObject[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
}

export function contextOf(containerOrSpec: JsonObject): JsonObject {
  return objectAt(containerOrSpec, "securityContext");
}

/** The names of the violating containers. */
export function violatingContainers(pod: PodLike, isBad: (container: JsonObject) => boolean): string[] {
  return containersOf(pod)
    .filter(isBad)
    .map((container) => stringAt(container, "name"));
}

export function plural(count: number, one: string, many: string): string {
  return count === 1 ? one : many;
}

/** DIFFERS: kubernetes reports all values. */
const LISTED_MAX = 100;

export function quoted(items: Iterable<string>): string {
  return [...items]
    .slice(0, LISTED_MAX)
    .map((item) => `"${item}"`)
    .join(", ");
}

export function containersText(names: readonly string[]): string {
  return `${plural(names.length, "container", "containers")} ${quoted(names)}`;
}

/** Names the pod, the violating containers or both; undefined if none of them violates the check. */
export function settersText(isPodBad: boolean, containers: readonly string[]): string | undefined {
  const setters = [...(isPodBad ? ["pod"] : []), ...(containers.length > 0 ? [containersText(containers)] : [])];
  return setters.length === 0 ? undefined : setters.join(" and ");
}

export function sorted(items: Iterable<string>): string[] {
  return [...new Set(items)].sort();
}

export function isWindows({ spec }: PodLike): boolean {
  return objectAt(spec, "os")["name"] === "windows";
}

/** Such a pod is exempt from some checks, because root in a user namespace has no privileges outside the namespace. */
export function hasUserNamespace({ spec }: PodLike): boolean {
  return spec["hostUsers"] === false;
}

export function unless(isExempt: (pod: PodLike) => boolean, check: CheckPod): CheckPod {
  return (pod) => (isExempt(pod) ? undefined : check(pod));
}
