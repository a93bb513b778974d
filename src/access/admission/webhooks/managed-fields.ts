/** Restores the managedFields of an object if a webhook has made them invalid. */
import { messageOf } from "../../../base/within.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { decodeEntries } from "../../../objects/managed-fields/entries.ts";

/**
 * Returns the object itself if its managedFields are valid, otherwise a copy with the managedFields of `before`, and a
 * warning.
 */
export function withReadableManagedFields(
  object: JsonObject,
  before: JsonObject,
  warn: (text: string) => void,
): JsonObject {
  const metadata = objectAt(object, "metadata");
  const { managedFields: had } = objectAt(before, "metadata");
  if (jsonEquals(metadata["managedFields"], had)) return object;
  const why = managedFieldsProblem(metadata);
  if (why === undefined) return object;
  warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${why}`,
  );
  const { managedFields: _unreadable, ...rest } = metadata;
  return { ...object, metadata: had === undefined ? rest : { ...rest, managedFields: had } };
}

function managedFieldsProblem(metadata: JsonObject): string | undefined {
  for (const [index, entry] of objectsAt(metadata, "managedFields").entries()) {
    const why = entryProblem(entry, index);
    if (why !== undefined) return why;
  }
  try {
    decodeEntries(metadata["managedFields"]);
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function entryProblem(entry: JsonObject, index: number): string | undefined {
  const operation = stringAt(entry, "operation");
  if (operation !== "Apply" && operation !== "Update") return "operation must be `Apply` or `Update`";
  if (stringAt(entry, "apiVersion") === "") return "apiVersion must not be empty";
  const fieldsType = stringAt(entry, "fieldsType");
  if (fieldsType === "") return `missing fieldsType in managed fields entry ${index}`;
  return fieldsType === "FieldsV1"
    ? undefined
    : `invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${index}`;
}
