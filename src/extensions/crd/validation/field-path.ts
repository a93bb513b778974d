/** Resolves the field paths of CEL rules and selectable fields in their schema. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { hasAdditionalProperties, hasProperties, propertyOf } from "./schema-node.ts";
import { pathTokens, unquoted } from "../structural-schema/rules/field-path.ts";

interface FoundField {
  /** The path in the form of errors: `spec.color`, `spec.labels[app]`. */
  readonly path: string;
  readonly root: string;
  readonly schema: JsonObject | undefined;
}

/** The field, or a string with the reason why the path is invalid. */
type FieldPathResult = FoundField | string;

const NO_FIELD = "does not refer to a valid field";
const UNEXPECTED_END = "unexpected end of JSON path";

/** Resolves a path. If `allowsBrackets`, the path may contain `['name']` instead of `.name`. */
export function resolveFieldPath(
  jsonPath: string,
  root: JsonObject,
  options: { readonly allowsBrackets: boolean },
): FieldPathResult {
  const tokens = pathTokens(jsonPath);
  let found: FoundField = { path: "", root: "", schema: root };
  for (let next = tokens.next(); next.done !== true; next = tokens.next()) {
    if (next.value !== "." && next.value !== "[") return `expected [ or . but got: ${next.value}`;
    if (next.value === "[" && !options.allowsBrackets) return "array notation is not allowed";
    const token = tokens.next();
    if (token.done === true) return UNEXPECTED_END;
    const name = next.value === "." ? token.value : unquoted(token.value);
    if (name === undefined) return `expected single quoted string but got ${token.value}`;
    const step = stepInto(found, name);
    if (step === undefined) return NO_FIELD;
    found = step;
    if (next.value === ".") continue;
    const closing = tokens.next();
    if (closing.done === true) return UNEXPECTED_END;
    if (closing.value !== "]") return `expected ] but got ${closing.value}`;
  }
  return found;
}

function stepInto(found: FoundField, name: string): FoundField | undefined {
  const { schema } = found;
  if (schema === undefined) return undefined;
  const isNamed = hasProperties(schema);
  if (!isNamed && !hasAdditionalProperties(schema)) return undefined;
  const { additionalProperties } = schema;
  const below = isNamed
    ? propertyOf(schema, name)
    : isJsonObject(additionalProperties)
      ? additionalProperties
      : undefined;
  if (isNamed && below === undefined) return undefined;
  const step = isNamed ? (found.path === "" ? name : `.${name}`) : `[${name}]`;
  return { path: `${found.path}${step}`, root: found.path === "" ? step : found.root, schema: below };
}
