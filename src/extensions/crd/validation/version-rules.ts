/**
 * Validates the fields of a CRD version other than its schema: deprecation, subresources, printer columns and
 * selectable fields.
 */
import { duplicateValue, invalidGoValue, invalidValue, required, tooMany } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { resolveFieldPath } from "./field-path.ts";
import { openApiSchema } from "./internal-spec.ts";
import { isTooDeep, schemaType } from "./schema-node.ts";
import { unreadableReason } from "./unsupported-members.ts";

const WARNING_BYTES_MAX = 256;
const UNPRINTABLE = /[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/u;

export function* deprecationErrors(version: JsonObject, field: string): Generator<FieldError> {
  const warning = version["deprecationWarning"];
  if (typeof warning !== "string") return;
  if (version["deprecated"] !== true) {
    yield invalidGoValue(field, warning, "can only be set for deprecated versions");
    return;
  }
  // As kubernetes: the limit counts bytes, but the message says characters.
  if (Buffer.byteLength(warning) > WARNING_BYTES_MAX)
    yield invalidGoValue(field, warning, `must be <= ${WARNING_BYTES_MAX} characters long`);
  if (warning === "") yield invalidGoValue(field, warning, "must not be an empty string");
  const at = warning.search(UNPRINTABLE);
  if (at >= 0)
    yield invalidGoValue(
      field,
      warning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, at))}`,
    );
}

interface PathDemand {
  readonly key: string;
  readonly prefixes: readonly string[];
  readonly isOptional?: true;
}

const SCALE_PATHS: readonly PathDemand[] = [
  { key: "specReplicasPath", prefixes: [".spec."] },
  { key: "statusReplicasPath", prefixes: [".status."] },
  { key: "labelSelectorPath", prefixes: [".spec.", ".status."], isOptional: true },
];

/** Validates the subresources of a version, or those that all versions share. */
export function* subresourceErrors(holder: JsonObject, field: string): Generator<FieldError> {
  const { scale } = objectAt(holder, "subresources");
  if (!isJsonObject(scale)) return;
  for (const { key, prefixes, isOptional } of SCALE_PATHS) {
    const path = stringAt(scale, key);
    const at = `${field}.scale.${key}`;
    if (path === "") {
      if (isOptional !== true) yield required(at);
    } else if (!path.startsWith(".")) yield invalidValue(at, path, "must be a simple json path starting with .");
    else if (!prefixes.some((prefix) => path.startsWith(prefix))) {
      const where = prefixes.map((prefix) => prefix.slice(0, -1)).join(" or ");
      // As kubernetes: an optional path is a pointer in Go, and is shown as one.
      const tell = isOptional === true ? invalidGoValue : invalidValue;
      yield tell(at, path, `should be a json path under ${prefixes.length > 1 ? "either " : ""}${where}`);
    }
  }
}

const COLUMN_TYPES: readonly string[] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: readonly string[] = [
  "byte",
  "date",
  "date-time",
  "double",
  "float",
  "int32",
  "int64",
  "password",
];

export function* columnErrors(holder: JsonObject, field: string): Generator<FieldError> {
  for (const [index, column] of objectsAt(holder, "additionalPrinterColumns").entries()) {
    const at = `${field}[${index}]`;
    if (stringAt(column, "name") === "") yield required(`${at}.name`);
    const type = stringAt(column, "type");
    const oneOfTypes = `must be one of ${COLUMN_TYPES.join(",")}`;
    if (type === "") yield required(`${at}.type`, oneOfTypes);
    else if (!COLUMN_TYPES.includes(type)) yield invalidValue(`${at}.type`, type, oneOfTypes);
    const format = stringAt(column, "format");
    if (format !== "" && !COLUMN_FORMATS.includes(format))
      yield invalidValue(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(",")}`);
    // As kubernetes: errors write the field name as in v1beta1, JSONPath.
    const path = stringAt(column, "jsonPath");
    if (path === "") yield required(`${at}.JSONPath`);
    else if (!path.startsWith("."))
      yield invalidValue(`${at}.JSONPath`, path, "must be a simple json path starting with .");
  }
}

export const SELECTABLE_FIELDS_MAX = 8;

interface SelectableFieldPlaces {
  /** Field path of the list of selectable fields. */
  readonly field: string;
  /** Field path of the schema, as kubernetes names it in these errors. */
  readonly schemaField: string;
  /** Message of the error if there is no schema. */
  readonly noSchema: string;
  /** Whether more fields than the maximum are allowed, because the stored CRD has the same list. */
  readonly allowsTooMany: boolean;
}

export function* selectableFieldErrors(holder: JsonObject, places: SelectableFieldPlaces): Generator<FieldError> {
  const fields = objectsAt(holder, "selectableFields");
  if (fields.length === 0) return;
  const schema = openApiSchema(holder);
  if (schema === undefined) {
    yield invalidValue(places.field, "", places.noSchema);
    return;
  }
  if (isTooDeep(schema)) return;
  const reason = unreadableReason(schema);
  if (reason !== undefined) {
    // DIFFERS: kubernetes continues without reporting this error, and fails when it looks up the fields.
    yield invalidValue(places.schemaField, "", reason);
    return;
  }
  const paths = new Set<string>();
  for (const [index, field] of fields.entries())
    yield* selectableErrors(stringAt(field, "jsonPath"), `${places.field}[${index}].jsonPath`, { schema, paths });
  if (paths.size > SELECTABLE_FIELDS_MAX && !places.allowsTooMany)
    yield tooMany(places.field, paths.size, SELECTABLE_FIELDS_MAX);
}

const SELECTABLE_TYPES: readonly string[] = ["string", "boolean", "integer"];

function* selectableErrors(
  jsonPath: string,
  field: string,
  { schema, paths }: { readonly schema: JsonObject; readonly paths: Set<string> },
): Generator<FieldError> {
  if (jsonPath === "") {
    yield required(field);
    return;
  }
  const found = resolveFieldPath(jsonPath, schema, { allowsBrackets: false });
  if (typeof found === "string") {
    yield invalidValue(field, jsonPath, `is an invalid path: ${found}`);
    return;
  }
  if (found.root === "metadata") yield invalidValue(field, jsonPath, "must not point to fields in metadata");
  if (found.schema === undefined || !SELECTABLE_TYPES.includes(schemaType(found.schema)))
    yield invalidValue(
      field,
      jsonPath,
      "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
    );
  if (paths.has(found.path)) yield duplicateValue(field, jsonPath);
  paths.add(found.path);
}
