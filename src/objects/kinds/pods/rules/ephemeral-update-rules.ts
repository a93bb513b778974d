/** Validation of updates of ephemeral containers: they can only be added. */
import { forbiddenField } from "../../../../meta/field-errors.ts";
import { annotationsOf, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";
import { unifiedDiff } from "../../internal-version/unified-diff.ts";
import { annotationUpdateErrors, MIRROR_POD } from "./annotation-rules.ts";
import { podErrors } from "./pod-rules.ts";
import { internalValue } from "../../internal-version/internal-value.ts";
import { goJsonLines } from "../../../../meta/go-json.ts";

const FIELD = "spec.ephemeralContainers";

/** Ignores the order of the containers, because patches do not keep it. */
export function* ephemeralUpdateErrors(
  pod: JsonObject,
  existing: JsonObject,
  context: KindContext,
): Generator<FieldError> {
  if (annotationsOf(existing)[MIRROR_POD] !== undefined) {
    yield forbiddenField("", "static pods do not support ephemeral containers");
    return;
  }
  yield* podErrors(pod, context, existing);
  yield* annotationUpdateErrors(annotationsOf(pod), annotationsOf(existing), "metadata.annotations");
  const byName = new Map(containersOf(pod).map((container) => [stringAt(container, "name"), container]));
  for (const before of containersOf(existing)) {
    const name = JSON.stringify(stringAt(before, "name"));
    const next = byName.get(stringAt(before, "name"));
    if (next === undefined) yield forbiddenField(FIELD, `existing ephemeral containers ${name} may not be removed\n`);
    else if (!jsonEquals(next, before))
      yield forbiddenField(
        FIELD,
        `existing ephemeral containers ${name} may not be changed\n${containerDiff(before, next, context)}`,
      );
  }
}

function containersOf(pod: JsonObject): JsonObject[] {
  return objectsAt(objectAt(pod, "spec"), "ephemeralContainers");
}

function containerDiff(before: JsonObject, next: JsonObject, context: KindContext): string {
  if (!context.gates.isOn("PodUpdateErrorsWithJSONDiff")) return "";
  const lines = (container: JsonObject): string[] =>
    goJsonLines(internalValue(container, "EphemeralContainer", context));
  return unifiedDiff(lines(before), lines(next));
}
