/** Checks a write against the quotas of its namespace and computes their new usage. */
import type { GroupResource } from "../../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import { added, amountsAt, masked, subtracted, withoutZeros, type Amounts } from "../../../../meta/amounts.ts";
import { admissionForbidden, listedNames } from "../plugin-errors.ts";
import type { UsageEvaluator } from "./evaluator.ts";
import { scopesOf } from "./scopes.ts";

export const RESOURCE_QUOTAS: GroupResource = { group: "", resource: "resourcequotas" };

/**
 * A quota and its current usage, including writes that were admitted in this batch but are not charged to the stored
 * quota yet.
 */
export interface RunningQuota {
  readonly name: string;
  readonly object: JsonObject;
  readonly hard: Amounts;
  readonly used: Amounts;
}

export function runningQuota(quota: JsonObject): RunningQuota {
  const status = objectAt(quota, "status");
  return {
    name: stringAt(objectAt(quota, "metadata"), "name"),
    object: quota,
    hard: amountsAt(status, "hard"),
    used: amountsAt(status, "used"),
  };
}

/**
 * Returns all quotas, with the new usage if the write changes it. Throws a StatusError if the write exceeds a quota.
 */
export function checkRequest(
  quotas: readonly RunningQuota[],
  attributes: Attributes,
  evaluator: UsageEvaluator,
): readonly RunningQuota[] {
  const { object, operation, subresource } = attributes;
  if (object === undefined || !evaluator.handles(attributes)) return quotas;
  const pertinent = new Set(quotas.filter((quota) => isPertinent(quota, object, attributes, evaluator)));
  const usage = evaluator.usage(object);
  const negative = [...usage].filter(([, { nanos }]) => nanos < 0n).map(([name]) => name);
  if (negative.length > 0)
    throw admissionForbidden(attributes, `quota usage is negative for resource(s): ${listedNames(negative)}`);
  const change = operation === "UPDATE" ? changeOf(usage, attributes, evaluator) : () => usage;
  return quotas.map((quota) => {
    const delta = pertinent.has(quota) ? withoutZeros(change(quota)) : new Map();
    if (delta.size === 0) return quota;
    return charged(quota, delta, { attributes, isEnforced: subresource !== "status" });
  });
}

function isPertinent(
  quota: RunningQuota,
  object: JsonObject,
  attributes: Attributes,
  evaluator: UsageEvaluator,
): boolean {
  const limited = [...quota.hard.keys()].filter((name) => evaluator.isCounted(name));
  if (limited.length === 0 || !matchesScopes(quota, object, evaluator)) return false;
  const missing = evaluator.missing(limited, object);
  if (missing !== undefined) throw admissionForbidden(attributes, `failed quota: ${quota.name}: ${missing}`);
  if (!limited.every((name) => quota.used.has(name)))
    throw admissionForbidden(attributes, `status unknown for quota: ${quota.name}, resources: ${listedNames(limited)}`);
  return true;
}

function matchesScopes({ object: quota }: RunningQuota, object: JsonObject, evaluator: UsageEvaluator): boolean {
  return scopesOf(quota).every((requirement) => evaluator.matchesScope(requirement, object));
}

/**
 * The change of usage by an update: the difference to the existing object if that matches the scopes of the quota,
 * otherwise the full usage.
 */
function changeOf(usage: Amounts, attributes: Attributes, evaluator: UsageEvaluator): (quota: RunningQuota) => Amounts {
  const { existing } = attributes;
  if (existing === undefined)
    throw admissionForbidden(attributes, "unable to get previous usage since prior version of object was not found");
  if (stringAt(objectAt(existing, "metadata"), "resourceVersion") === "") return () => usage;
  const difference = subtracted(usage, evaluator.usage(existing));
  return (quota) => (matchesScopes(quota, existing, evaluator) ? difference : usage);
}

function charged(
  quota: RunningQuota,
  delta: Amounts,
  { attributes, isEnforced }: { readonly attributes: Attributes; readonly isEnforced: boolean },
): RunningQuota {
  const { name, hard, used } = quota;
  const requested = masked(delta, hard);
  const sum = added(used, requested);
  const exceeded = new Set(
    [...requested.keys()].filter((resource) => sum.get(resource)!.nanos > hard.get(resource)!.nanos),
  );
  if (isEnforced && exceeded.size > 0) {
    const shown = (amounts: Amounts): string => shownAmounts(masked(amounts, exceeded));
    const why = `exceeded quota: ${name}, requested: ${shown(requested)}, used: ${shown(used)}, limited: ${shown(hard)}`;
    throw admissionForbidden(attributes, why);
  }
  return requested.size === 0 ? quota : { ...quota, used: sum };
}

function shownAmounts(amounts: Amounts): string {
  return listedNames(amounts.keys(), (name) => `${name}=${amounts.get(name)?.text}`);
}
