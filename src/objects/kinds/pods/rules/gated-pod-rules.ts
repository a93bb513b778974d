/** Validation of updates of a pod with scheduling gates, which may narrow its node selector and node affinity. */
import { invalidValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const TERMS_FIELD = `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms`;

export function* gatedPodErrors(next: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  const selector = objectAt(next, "nodeSelector");
  const old = objectAt(before, "nodeSelector");
  if (Object.keys(old).some((key) => selector[key] !== old[key]))
    yield invalidValue(
      "spec.nodeSelector",
      Object.keys(selector).length === 0 ? null : selector,
      "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
    );
  if (!jsonEquals(nodeAffinityOf(next), nodeAffinityOf(before))) yield* nodeAffinityErrors(next, before, context);
}

/** The new spec with the stored values of the fields that a gated pod may change. */
export function withGatedChangesUndone(next: JsonObject, before: JsonObject): JsonObject {
  const { nodeSelector: _selector, affinity, ...rest } = next;
  const old = nodeAffinityOf(before);
  const undone: JsonObject = { ...rest };
  if (before["nodeSelector"] !== undefined) undone["nodeSelector"] = before["nodeSelector"];
  const { nodeAffinity: _affinity, ...others } = isJsonObject(affinity) ? affinity : {};
  const isNothing = Object.keys(others).length === 0 && old === undefined;
  if (!isNothing || before["affinity"] !== undefined)
    undone["affinity"] = old === undefined ? others : { ...others, nodeAffinity: old };
  return undone;
}

function nodeAffinityOf(spec: JsonObject): unknown {
  return objectAt(spec, "affinity")["nodeAffinity"];
}

function termsOf(spec: JsonObject): JsonObject[] {
  return objectsAt(objectAt(objectAt(objectAt(spec, "affinity"), "nodeAffinity"), REQUIRED), "nodeSelectorTerms");
}

function* nodeAffinityErrors(next: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  const terms = termsOf(next);
  const old = termsOf(before);
  const shown = (term: JsonObject): unknown => internalValue(term, "NodeSelectorTerm", context);
  if (old.length > 0 && old.length !== terms.length) {
    yield invalidValue(
      TERMS_FIELD,
      terms.length === 0 ? null : terms.map(shown),
      "no additions/deletions to non-empty NodeSelectorTerms list are allowed",
    );
    return;
  }
  for (const [index, was] of old.entries()) {
    const term = terms[index] ?? {};
    if (!isOnlyAddedTo(term, was))
      yield invalidValue(
        `${TERMS_FIELD}[${index}]`,
        shown(term),
        "only additions are allowed (no mutations or deletions)",
      );
  }
}

/**
 * Whether `term` only adds requirements to `old`. An empty term matches no node, so that any addition to it would widen
 * the selection.
 */
function isOnlyAddedTo(term: JsonObject, old: JsonObject): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  const isEmpty = lists.every((list) => objectsAt(old, list).length === 0);
  if (isEmpty) return lists.every((list) => objectsAt(term, list).length === 0);
  return lists.every((list) => {
    const kept = objectsAt(old, list);
    return jsonEquals(objectsAt(term, list).slice(0, kept.length), kept);
  });
}
