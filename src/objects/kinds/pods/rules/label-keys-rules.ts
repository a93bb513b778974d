/** Validation of matchLabelKeys and mismatchLabelKeys. */
import { forbiddenField, invalidValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { qualifiedNameFieldErrors } from "./formats.ts";

const IN_BOTH = "exists in both matchLabelKeys and labelSelector";

/** `term`: the term after its label keys have been merged into its labelSelector. */
export function* labelKeysErrors(term: JsonObject, field: string): Generator<FieldError> {
  const selector = term["labelSelector"];
  const match = stringsAt(term, "matchLabelKeys");
  const mismatch = stringsAt(term, "mismatchLabelKeys");
  yield* keysErrors(match, `${field}.matchLabelKeys`, selector);
  yield* keysErrors(mismatch, `${field}.mismatchLabelKeys`, selector);
  if (isJsonObject(selector)) yield* repeatedKeyErrors(match, selector, field);
  const away = new Set(mismatch);
  for (const [index, key] of match.entries())
    if (away.has(key))
      yield invalidValue(
        `${field}.matchLabelKeys[${index}]`,
        key,
        "exists in both matchLabelKeys and mismatchLabelKeys",
      );
}

function* keysErrors(keys: readonly string[], field: string, selector: unknown): Generator<FieldError> {
  if (keys.length === 0) return;
  if (!isJsonObject(selector)) yield forbiddenField(field, "must not be specified when labelSelector is not set");
  else for (const [index, key] of keys.entries()) yield* qualifiedNameFieldErrors(key, `${field}[${index}]`);
}

/**
 * Reports a matchLabelKeys key that the merged selector has twice, because then the selector had it before the merge.
 */
function* repeatedKeyErrors(match: readonly string[], selector: JsonObject, field: string): Generator<FieldError> {
  const indexes = new Map(match.map((key, index) => [key, index]));
  const seen = new Set(Object.keys(objectAt(selector, "matchLabels")));
  for (const expression of objectsAt(selector, "matchExpressions")) {
    const key = stringAt(expression, "key");
    const index = indexes.get(key);
    if (index !== undefined && seen.has(key)) yield invalidValue(`${field}[${index}]`, key, IN_BOTH);
    seen.add(key);
  }
}

/** The checks of spread constraints in releases before 1.34, which do not merge their label keys into the selector. */
export function* plainLabelKeysErrors(term: JsonObject, field: string): Generator<FieldError> {
  const keys = stringsAt(term, "matchLabelKeys");
  const selector = term["labelSelector"];
  if (keys.length === 0) return;
  if (!isJsonObject(selector)) yield forbiddenField(field, "must not be specified when labelSelector is not set");
  const selected = new Set([
    ...Object.keys(objectAt(term["labelSelector"] === undefined ? {} : objectAt(term, "labelSelector"), "matchLabels")),
    ...objectsAt(objectAt(term, "labelSelector"), "matchExpressions").map((expression) => stringAt(expression, "key")),
  ]);
  for (const [index, key] of keys.entries()) {
    yield* qualifiedNameFieldErrors(key, `${field}[${index}]`);
    if (selected.has(key)) yield invalidValue(`${field}[${index}]`, key, IN_BOTH);
  }
}
