/** Validation of single files of a volume. */
import { invalidValue, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { fieldRefErrors, resourceFieldRefErrors } from "./env-rules.ts";
import { nonReservedPathErrors } from "./formats.ts";

const MODE_MAX = 0o777;
const DOWNWARD_FIELDS: readonly string[] = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];

export function* modeErrors(source: JsonObject, field: string, member: "mode" | "defaultMode"): Generator<FieldError> {
  const mode = numberAt(source, member);
  if (mode !== undefined && (mode < 0 || mode > MODE_MAX))
    yield invalidValue(field, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

export function* keyToPathErrors(item: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(item, "key") === "") yield required(`${field}.key`);
  if (stringAt(item, "path") === "") yield required(`${field}.path`);
  yield* nonReservedPathErrors(stringAt(item, "path"), `${field}.path`);
  yield* modeErrors(item, `${field}.mode`, "mode");
}

/** As kubernetes: errors name the path of the volume source instead of that of the file. */
export function* downwardFileErrors(file: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(file, "path") === "") yield required(`${field}.path`);
  yield* nonReservedPathErrors(stringAt(file, "path"), `${field}.path`);
  const { fieldRef, resourceFieldRef } = file;
  if (isJsonObject(fieldRef)) {
    yield* fieldRefErrors(fieldRef, `${field}.fieldRef`, DOWNWARD_FIELDS);
    if (resourceFieldRef !== undefined)
      yield invalidValue(field, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (isJsonObject(resourceFieldRef))
    yield* resourceFieldRefErrors(resourceFieldRef, `${field}.resourceFieldRef`, true);
  else yield required(field, "one of fieldRef and resourceFieldRef is required");
  yield* modeErrors(file, `${field}.mode`, "mode");
}
