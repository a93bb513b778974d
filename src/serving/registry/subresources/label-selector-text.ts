/** Formats selectors as text for status.selector of a Scale. */
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";

/** Formats a LabelSelector as a labelSelector query parameter, for status.selector of a Scale. */
export function scaleSelectorText(selector: JsonObject): string {
  const expressions = objectsAt(selector, "matchExpressions");
  const requirements: [key: string, text: string][] = [
    ...labelRequirements(objectAt(selector, "matchLabels")),
    ...expressions.map((expression): [string, string] => [stringAt(expression, "key"), expressionText(expression)]),
  ];
  return inOrder(requirements);
}

/** Formats the label map of a replication controller's selector in the same way. */
export function scaleLabelsText(labels: JsonObject): string {
  return inOrder(labelRequirements(labels));
}

function labelRequirements(labels: JsonObject): [key: string, text: string][] {
  return Object.keys(labels).map((key) => [key, `${key}=${String(labels[key])}`]);
}

function expressionText(expression: JsonObject): string {
  const key = stringAt(expression, "key");
  const values = stringsAt(expression, "values").sort().join(",");
  switch (expression["operator"]) {
    case "In":
      return `${key} in (${values})`;
    case "NotIn":
      return `${key} notin (${values})`;
    case "DoesNotExist":
      return `!${key}`;
    default:
      return key;
  }
}

function inOrder(requirements: readonly [key: string, text: string][]): string {
  return requirements
    .toSorted(([left], [right]) => (left === right ? 0 : left < right ? -1 : 1))
    .map(([, text]) => text)
    .join(",");
}
