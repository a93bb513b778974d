/** Decides whether a webhook or policy applies to a write, and in which API version it receives the object. */
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { Attributes, ServedVersion } from "../admission.ts";
import { matchRules, readRules, requestedVersion, type MatchPolicy, type Rule } from "./rules.ts";
import { namespaceSelected, objectSelected, readSelector, type Selector } from "./selectors.ts";

/** The parsed match criteria of a webhook, policy or binding. They are parsed once for each revision of its object. */
export interface Criteria {
  /** Undefined if the criteria match all resources. */
  readonly rules: readonly Rule[] | undefined;
  readonly excludeRules: readonly Rule[];
  readonly policy: MatchPolicy;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

/** The criteria of one webhook of a configuration. */
export function readWebhookCriteria(webhook: JsonObject): Criteria {
  return { ...readCommon(webhook), rules: readRules(webhook, "rules"), excludeRules: [] };
}

/** The criteria of MatchResources: a policy's matchConstraints or a binding's matchResources. */
export function readMatchResources(matchResources: JsonObject): Criteria {
  const rules = readRules(matchResources, "resourceRules");
  return {
    ...readCommon(matchResources),
    rules: rules.length === 0 ? undefined : rules,
    excludeRules: readRules(matchResources, "excludeResourceRules"),
  };
}

/**
 * Returns the version in which the webhook or policy receives the object, or undefined if the criteria do not match.
 * Throws a StatusError if everything else matches but a selector cannot be evaluated.
 */
export async function matchCriteria(
  criteria: Criteria,
  attributes: Attributes,
  objects: Pick<ObjectReader, "get" | "newest">,
): Promise<ServedVersion | undefined> {
  const { rules, excludeRules, policy } = criteria;
  if (excludeRules.length > 0 && matchRules(excludeRules, policy, attributes) !== undefined) return undefined;
  const version = rules === undefined ? requestedVersion(attributes) : matchRules(rules, policy, attributes);
  if (version === undefined) return undefined;
  const isObject = objectSelected(criteria.objectSelector, attributes);
  if (isObject === false) return undefined;
  const isNamespace = await namespaceSelected(criteria.namespaceSelector, attributes, objects);
  if (isNamespace === false) return undefined;
  if (isNamespace instanceof StatusError) throw isNamespace;
  if (isObject instanceof StatusError) throw isObject;
  return version;
}

function readCommon(parent: JsonObject): Pick<Criteria, "policy" | "namespaceSelector" | "objectSelector"> {
  return {
    policy: stringAt(parent, "matchPolicy") === "Exact" ? "Exact" : "Equivalent",
    namespaceSelector: readSelector(parent, "namespaceSelector"),
    objectSelector: readSelector(parent, "objectSelector"),
  };
}
