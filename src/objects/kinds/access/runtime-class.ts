/** Defaults, validation and warnings of RuntimeClasses. */
import { duplicateValue, required } from "../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors, labelsErrors, nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { overheadErrors } from "../pods/rules/resource-rules.ts";
import { tolerationsErrors } from "../pods/rules/scheduling-rules.ts";
import { ownPointer, setMissing, setRoundedResources } from "../defaults.ts";
import { deprecatedNodeLabel } from "../pods/warnings/deprecated-node-labels.ts";
import { internalValue } from "../internal-version/internal-value.ts";

export const RUNTIME_CLASS: Kind = {
  setDefaults(runtimeClass) {
    setMissing(runtimeClass, { handler: "" });
    const overhead = ownPointer(runtimeClass, "overhead");
    if (overhead !== undefined) setRoundedResources(overhead, "podFixed");
  },
  createErrors: runtimeClassErrors,
  *updateErrors(runtimeClass, existing) {
    yield* runtimeClassErrors(runtimeClass);
    yield* immutableErrors(runtimeClass["handler"], existing["handler"], "handler");
  },
  *warnings(runtimeClass) {
    for (const key of Object.keys(objectAt(objectAt(runtimeClass, "scheduling"), "nodeSelector")).sort()) {
      const why = deprecatedNodeLabel(key);
      if (why !== undefined) yield `scheduling.nodeSelector: ${why}`;
    }
  },
};

function* runtimeClassErrors(runtimeClass: JsonObject): Generator<FieldError> {
  const handler = stringAt(runtimeClass, "handler");
  if (handler === "") yield required("handler");
  else yield* nameErrors(handler, "handler", dnsLabelErrors);
  if (runtimeClass["overhead"] !== undefined)
    yield* overheadErrors(objectAt(objectAt(runtimeClass, "overhead"), "podFixed"), "overhead");
  const scheduling = objectAt(runtimeClass, "scheduling");
  yield* labelsErrors(objectAt(scheduling, "nodeSelector"), "scheduling.nodeSelector");
  const tolerations = objectsAt(scheduling, "tolerations");
  yield* tolerationsErrors(tolerations, "scheduling.tolerations");
  const seen = new Set<string>();
  for (const [index, toleration] of tolerations.entries()) {
    const identity = JSON.stringify(["key", "operator", "value", "effect"].map((key) => stringAt(toleration, key)));
    if (seen.has(identity))
      yield duplicateValue(`scheduling.tolerations[${index}]`, internalValue(toleration, "Toleration"));
    seen.add(identity);
  }
}
