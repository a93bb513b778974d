/**
 * Computes the quota usage of persistent volume claims: their number and requested storage, in total and by storage
 * class.
 */
import { objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { amountsAt, roundedUpToUnit, type Amount, type Amounts, ONE_AMOUNT } from "../../../../meta/amounts.ts";
import type { UsageEvaluator } from "./evaluator.ts";
import { matchesValue, type ScopeRequirement } from "./scopes.ts";

const COUNT = "count/persistentvolumeclaims";
const CLAIMS = "persistentvolumeclaims";
const STORAGE = "requests.storage";
const BY_CLASS = ".storageclass.storage.k8s.io/";
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

export const CLAIM_EVALUATOR: UsageEvaluator = {
  handles({ operation, subresource }) {
    // As kubernetes: every status update counts, because allocated resources always compare as different.
    if (subresource === "status") return operation === "UPDATE";
    return subresource === "" && (operation === "CREATE" || operation === "UPDATE");
  },
  isCounted: (name) =>
    [COUNT, CLAIMS, STORAGE].includes(name) || [CLAIMS, STORAGE].some((ending) => name.endsWith(BY_CLASS + ending)),
  matchesScope: (requirement, claim) =>
    requirement.scopeName === "VolumeAttributesClass" && matchesAttributes(requirement, claim),
  missing: () => undefined,
  usage: claimUsage,
};

function claimUsage(claim: JsonObject): Amounts {
  const usage = new Map<string, Amount>([
    [COUNT, ONE_AMOUNT],
    [CLAIMS, ONE_AMOUNT],
  ]);
  const storageClass = classOf(claim);
  if (storageClass !== "") usage.set(storageClass + BY_CLASS + CLAIMS, ONE_AMOUNT);
  const storage = storageOf(claim);
  if (storage === undefined) return usage;
  usage.set(STORAGE, storage);
  return storageClass === "" ? usage : usage.set(storageClass + BY_CLASS + STORAGE, storage);
}

function classOf(claim: JsonObject): string {
  const annotations = objectAt(objectAt(claim, "metadata"), "annotations");
  if (Object.hasOwn(annotations, CLASS_ANNOTATION)) return stringAt(annotations, CLASS_ANNOTATION);
  return stringAt(objectAt(claim, "spec"), "storageClassName");
}

/** The requested storage, or the allocated storage if it is more. */
function storageOf(claim: JsonObject): Amount | undefined {
  const asked = amountsAt(objectAt(objectAt(claim, "spec"), "resources"), "requests").get("storage");
  if (asked === undefined) return undefined;
  const rounded = roundedUpToUnit(asked);
  const allocated = amountsAt(objectAt(claim, "status"), "allocatedResources").get("storage");
  return allocated !== undefined && allocated.nanos > rounded.nanos ? roundedUpToUnit(allocated) : rounded;
}

function matchesAttributes(requirement: ScopeRequirement, claim: JsonObject): boolean {
  const status = objectAt(claim, "status");
  const names = new Set(
    [
      stringAt(objectAt(claim, "spec"), "volumeAttributesClassName"),
      stringAt(status, "currentVolumeAttributesClassName"),
      stringAt(objectAt(status, "modifyVolumeStatus"), "targetVolumeAttributesClassName"),
    ].filter((name) => name !== ""),
  );
  if (names.size === 0) return matchesValue(requirement, undefined);
  return [...names].some((name) => matchesValue(requirement, name));
}
