/** Detects invalid label values in node selectors of volumes, and warns about deprecated node labels. */
import { objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { labelValueErrors } from "../../../meta/names.ts";
import { deprecatedNodeLabel } from "../pods/warnings/deprecated-node-labels.ts";

export function hasInvalidSelectorValue(selector: JsonObject): boolean {
  return objectsAt(selector, "nodeSelectorTerms").some((term) =>
    objectsAt(term, "matchExpressions").some((requirement) =>
      stringsAt(requirement, "values").some((value) => labelValueErrors(value).length > 0),
    ),
  );
}

/** Warnings about the `matchExpressions` of node selector terms and label selectors. */
export function* deprecatedExpressionWarnings(selector: JsonObject, field: string): Generator<string> {
  for (const [index, requirement] of objectsAt(selector, "matchExpressions").entries()) {
    const key = stringAt(requirement, "key");
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `${field}.matchExpressions[${index}].key: ${key} is ${why}`;
  }
}
