/** Common parts of the pod security checks: the violating containers and the messages. */
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
  /** By the minor version since which it applies, oldest first. */
  readonly versions: readonly (readonly [since: number, check: CheckPod])[];
  /** The baseline check that it replaces. */
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

/** DIFFERS: kubernetes reports all of them. */
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

/** The pod, the containers or both; undefined if there is no violation. */
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

/** Root in a user namespace has no privileges outside of it. */
export function hasUserNamespace({ spec }: PodLike): boolean {
  return spec["hostUsers"] === false;
}

export function unless(isExempt: (pod: PodLike) => boolean, check: CheckPod): CheckPod {
  return (pod) => (isExempt(pod) ? undefined : check(pod));
}
