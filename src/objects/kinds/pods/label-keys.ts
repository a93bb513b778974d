/**
 * Merges matchLabelKeys and mismatchLabelKeys of affinity terms and spread constraints into their label selectors, with
 * the values of the pod's own labels.
 */
import { isJsonObject, objectAt, objectsAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

export function withLabelKeysSelected(spec: JsonObject, labels: JsonObject, context: KindContext): JsonObject {
  const { affinity, topologySpreadConstraints } = spec;
  const selected = { ...spec };
  if (isJsonObject(affinity) && context.gates.isOn("MatchLabelKeysInPodAffinity"))
    selected["affinity"] = withAffinitySelected(affinity, labels);
  if (Array.isArray(topologySpreadConstraints) && context.gates.isOn("MatchLabelKeysInPodTopologySpreadSelectorMerge"))
    selected["topologySpreadConstraints"] = objectsAt(spec, "topologySpreadConstraints").map((constraint) =>
      withSelected(constraint, labels),
    );
  return selected;
}

function withAffinitySelected(affinity: JsonObject, labels: JsonObject): JsonObject {
  const selected = { ...affinity };
  for (const member of ["podAffinity", "podAntiAffinity"] as const) {
    const pods = affinity[member];
    if (!isJsonObject(pods)) continue;
    const terms = { ...pods };
    if (terms[REQUIRED] !== undefined)
      terms[REQUIRED] = objectsAt(pods, REQUIRED).map((term) => withSelected(term, labels));
    if (terms[PREFERRED] !== undefined)
      terms[PREFERRED] = objectsAt(pods, PREFERRED).map((weighted) => ({
        ...weighted,
        podAffinityTerm: withSelected(objectAt(weighted, "podAffinityTerm"), labels),
      }));
    selected[member] = terms;
  }
  return selected;
}

/** A term without a selector matches no pods, so nothing is merged. */
function withSelected(term: JsonObject, labels: JsonObject): JsonObject {
  const selector = term["labelSelector"];
  const added = [
    ...requirements(stringsAt(term, "matchLabelKeys"), "In", labels),
    ...requirements(stringsAt(term, "mismatchLabelKeys"), "NotIn", labels),
  ];
  if (!isJsonObject(selector) || added.length === 0) return term;
  const matchExpressions = [...objectsAt(selector, "matchExpressions"), ...added];
  return { ...term, labelSelector: { ...selector, matchExpressions } };
}

function requirements(keys: readonly string[], operator: "In" | "NotIn", labels: JsonObject): JsonObject[] {
  return keys.filter((key) => Object.hasOwn(labels, key)).map((key) => ({ key, operator, values: [labels[key]] }));
}
