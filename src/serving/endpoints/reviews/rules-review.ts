/** Evaluates SelfSubjectRulesReview, which lists the rules of the user in a namespace. */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest } from "../../../meta/status-error.ts";
import type { ReviewedRules } from "./ports.ts";

export function reviewedNamespace(object: JsonObject): string {
  return stringAt(objectAt(object, "spec"), "namespace");
}

export function rejectWithoutNamespace(object: JsonObject): void {
  if (reviewedNamespace(object) === "") throw badRequest("no namespace on request");
}

export function rulesStatus({
  resourceRules,
  nonResourceRules,
  incomplete,
  evaluationError,
}: ReviewedRules): JsonObject {
  return {
    resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames = [] }) => ({
      verbs,
      ...unlessEmpty("apiGroups", apiGroups),
      ...unlessEmpty("resources", resources),
      ...unlessEmpty("resourceNames", resourceNames),
    })),
    nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
      verbs,
      ...unlessEmpty("nonResourceURLs", nonResourceURLs),
    })),
    incomplete,
    ...(evaluationError === "" ? {} : { evaluationError }),
  };
}

function unlessEmpty(member: string, values: readonly string[]): JsonObject {
  return values.length === 0 ? {} : { [member]: values };
}
