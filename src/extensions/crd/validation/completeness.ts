/**
 * Validates that every field that the junctors of a schema (allOf, anyOf, oneOf, not) mention is also specified outside
 * of them, as structural schemas require.
 */
import { required } from "../../../meta/field-errors.ts";
import { isJsonObject, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { addErrors, isFull, type ErrorList } from "./error-list.ts";
import { itemsOf, propertyOf, schemaEntries } from "./schema-node.ts";

/** The schema outside of junctors that corresponds to a schema below them; undefined if it is not specified. */
interface Restricted {
  readonly schema: JsonObject | undefined;
  readonly field: string;
}

export function addCompletenessErrors(schema: JsonObject, field: string, reported: ErrorList): void {
  addConditions(schema, field, { restricted: { schema, field }, told: reported });
}

interface Work {
  readonly restricted: Restricted;
  readonly told: ErrorList;
}

function addConditions(condition: JsonObject, field: string, work: Work): void {
  if (isJsonObject(condition["not"])) addNested(condition["not"], `${field}.not`, work);
  for (const key of ["allOf", "anyOf", "oneOf"])
    for (const [index, part] of objectsAt(condition, key).entries()) addNested(part, `${field}.${key}[${index}]`, work);
}

function addNested(condition: JsonObject, field: string, { restricted, told }: Work): void {
  if (isFull(told)) return;
  const { schema } = restricted;
  if (schema === undefined) {
    addErrors(told, [required(restricted.field, `because it is defined in ${field}`)]);
    return;
  }
  addConditions(condition, field, { restricted, told });
  const items = itemsOf(condition);
  if (items !== undefined) {
    const below = { schema: itemsOf(schema), field: `${restricted.field}.items` };
    addNested(items, `${field}.items`, { restricted: below, told });
  }
  for (const [name, property] of schemaEntries(condition, "properties")) {
    const below = { schema: propertyOf(schema, name), field: `${restricted.field}.properties[${name}]` };
    addNested(property, `${field}.properties[${name}]`, { restricted: below, told });
  }
}
