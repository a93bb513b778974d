/** Computes the quota usage of pods: their requests and limits until they terminate. */
import { qosClass } from "../../../../objects/kinds/pods/qos-class.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../../meta/names.ts";
import { amountsAt, type Amount, type Amounts, ONE_AMOUNT } from "../../../../meta/amounts.ts";
import { effectiveAmounts, isPodLevelResource } from "../pod-amounts.ts";
import { listedNames } from "../plugin-errors.ts";
import type { UsageEvaluator } from "./evaluator.ts";
import { matchesValue, type ScopeRequirement } from "./scopes.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";

export interface PodEvaluatorPorts {
  /** The gates of the release. */
  readonly gates: ReleaseGates;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const COUNT = "count/pods";
const COMPUTE: readonly string[] = ["cpu", "memory", "ephemeral-storage"];
const COUNTED: ReadonlySet<string> = new Set([
  COUNT,
  "pods",
  ...COMPUTE.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
]);
/** As kubernetes: if a quota limits one of these resources, each container must set it. */
const DEMANDED: ReadonlySet<string> = new Set(
  ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);
const HUGE_PAGES = "hugepages-";
const REQUESTS = "requests.";
const DEVICE_CLASS = "deviceclass.resource.kubernetes.io/";

export function podEvaluator(ports: PodEvaluatorPorts): UsageEvaluator {
  return {
    handles({ operation, subresource, object, existing }) {
      if (subresource === "resize") return operation === "UPDATE";
      if (subresource !== "") return false;
      if (operation === "CREATE") return true;
      return operation === "UPDATE" && isTerminating(object ?? {}) !== isTerminating(existing ?? {});
    },
    isCounted: (name) =>
      COUNTED.has(name) ||
      name.startsWith(HUGE_PAGES) ||
      name.startsWith(REQUESTS + HUGE_PAGES) ||
      isExtendedQuotaName(name),
    matchesScope: (requirement, pod) => matchesScope(requirement, pod, ports),
    missing: missingAmounts,
    usage: (pod) => podUsage(pod, ports.now()),
  };
}

function isNative(name: string): boolean {
  return !name.includes("/") || name.includes("kubernetes.io/");
}

function isExtendedQuotaName(name: string): boolean {
  return name.startsWith(REQUESTS) && (!isNative(name) || name.startsWith(REQUESTS + DEVICE_CLASS));
}

function isExtended(name: string): boolean {
  if (name.startsWith(DEVICE_CLASS)) return true;
  if (isNative(name) || name.startsWith(REQUESTS)) return false;
  return qualifiedNameErrors(REQUESTS + name).length === 0;
}

function isTerminating(pod: JsonObject): boolean {
  return (numberAt(objectAt(pod, "spec"), "activeDeadlineSeconds") ?? -1) >= 0;
}

function matchesScope(requirement: ScopeRequirement, pod: JsonObject, ports: PodEvaluatorPorts): boolean {
  switch (requirement.scopeName) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return isBestEffort(pod, ports);
    case "NotBestEffort":
      return !isBestEffort(pod, ports);
    case "PriorityClass":
      return matchesValue(requirement, stringAt(objectAt(pod, "spec"), "priorityClassName") || undefined);
    case "CrossNamespacePodAffinity":
      return hasForeignAffinity(pod);
    default:
      return false;
  }
}

function isBestEffort(pod: JsonObject, { gates }: PodEvaluatorPorts): boolean {
  const known = stringAt(objectAt(pod, "status"), "qosClass");
  return (known === "" ? qosClass(pod, { gates }) : known) === "BestEffort";
}

/** True if the pod has affinity or anti-affinity terms for pods of other namespaces. */
function hasForeignAffinity(pod: JsonObject): boolean {
  const affinity = objectAt(objectAt(pod, "spec"), "affinity");
  return ["podAffinity", "podAntiAffinity"].some((member) => {
    const terms = objectAt(affinity, member);
    const weighted = objectsAt(terms, "preferredDuringSchedulingIgnoredDuringExecution");
    return [
      ...objectsAt(terms, "requiredDuringSchedulingIgnoredDuringExecution"),
      ...weighted.map((term) => objectAt(term, "podAffinityTerm")),
    ].some((term) => stringsAt(term, "namespaces").length > 0 || isJsonObject(term["namespaceSelector"]));
  });
}

function missingAmounts(limited: readonly string[], pod: JsonObject): string | undefined {
  const spec = objectAt(pod, "spec");
  if (hasPodLevelResources(spec)) return undefined;
  const demanded = limited.filter((name) => DEMANDED.has(name)).sort();
  if (demanded.length === 0) return undefined;
  const lacking = new Map<string, Set<string>>();
  for (const container of [...objectsAt(spec, "containers"), ...objectsAt(spec, "initContainers")]) {
    const resources = objectAt(container, "resources");
    const usage = computeUsage(amountsAt(resources, "requests"), amountsAt(resources, "limits"));
    for (const name of demanded) {
      if (usage.has(name)) continue;
      const names = lacking.get(name) ?? new Set<string>();
      lacking.set(name, names.add(stringAt(container, "name")));
    }
  }
  if (lacking.size === 0) return undefined;
  const parts = demanded
    .filter((name) => lacking.has(name))
    .map((name) => `${name} for: ${listedNames(lacking.get(name) ?? [])}`);
  return `must specify ${parts.join("; ")}`;
}

function hasPodLevelResources(spec: JsonObject): boolean {
  const resources = objectAt(spec, "resources");
  return ["requests", "limits"].some((side) => Object.keys(objectAt(resources, side)).some(isPodLevelResource));
}

function podUsage(pod: JsonObject, now: number): Amounts {
  if (hasEnded(pod, now)) return new Map([[COUNT, ONE_AMOUNT]]);
  const usage = computeUsage(effectiveAmounts(pod, "requests"), effectiveAmounts(pod, "limits"));
  return usage.set(COUNT, ONE_AMOUNT);
}

function computeUsage(requests: Amounts, limits: Amounts): Map<string, Amount> {
  const usage = new Map<string, Amount>([["pods", ONE_AMOUNT]]);
  for (const name of COMPUTE) {
    const request = requests.get(name);
    if (request !== undefined) usage.set(name, request).set(REQUESTS + name, request);
    const limit = limits.get(name);
    if (limit !== undefined) usage.set(`limits.${name}`, limit);
  }
  for (const [name, request] of requests) {
    if (name.startsWith(HUGE_PAGES)) usage.set(name, request).set(REQUESTS + name, request);
    else if (isExtended(name)) usage.set(REQUESTS + name, request);
  }
  return usage;
}

const MS_PER_SECOND = 1000;

/**
 * True if the pod has terminated, or if it is being deleted and its grace period has passed, for example because its
 * node is gone.
 */
function hasEnded(pod: JsonObject, now: number): boolean {
  if (["Failed", "Succeeded"].includes(stringAt(objectAt(pod, "status"), "phase"))) return true;
  const metadata = objectAt(pod, "metadata");
  const graceSeconds = numberAt(metadata, "deletionGracePeriodSeconds");
  const deletedAt = Date.parse(stringAt(metadata, "deletionTimestamp"));
  return graceSeconds !== undefined && now > deletedAt + graceSeconds * MS_PER_SECOND;
}
