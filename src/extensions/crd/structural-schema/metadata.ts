/**
 * Decodes and validates the metadata of a custom resource and of the resources embedded in it, as kube-apiserver does.
 */
import { firstErrors, invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { GoZeros } from "../../../objects/go/go-zeros.ts";
import { ReportedPaths } from "../../../objects/json/json-text.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { decodeTyped, TypeMismatchError, type TypedObject } from "../../../objects/typed-decode.ts";
import { childPath, type VisitEmbedded } from "./embedded.ts";
import { shownValue } from "./validate/go-values.ts";
import { sortedGoJson } from "../../../meta/go-json.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

export interface MetadataType {
  /** The schema of ObjectMeta. */
  readonly struct: StructSchema;
  readonly zeros?: GoZeros | undefined;
}

/** Validates metadata. The field paths of its errors start with `metadata`. */
export type MetadataErrors = (metadata: JsonObject) => Iterable<FieldError>;

/**
 * Decodes metadata in place. Returns the paths of unknown fields, for fieldValidation. Throws a TypeMismatchError with
 * Go's message if a field has the wrong type.
 */
export function coerceMetadata(object: JsonObject, type: MetadataType): readonly string[] {
  if (!Object.hasOwn(object, "metadata")) return [];
  const { object: metadata, unknownFields } = decodeMetadata(object["metadata"], type);
  object["metadata"] = metadata;
  return unknownFields.map((path) => `metadata.${path}`);
}

function decodeMetadata(value: unknown, { struct, zeros }: MetadataType): TypedObject {
  if (value === null) return { object: {}, unknownFields: [] };
  if (isJsonObject(value)) return decodeTyped(value, struct, { zeros });
  throw new TypeMismatchError(unmarshalError(value, "value of type v1.ObjectMeta"));
}

/** As coerceMetadata, for each embedded resource; also checks the types of its apiVersion and kind. */
export function coerceEmbedded(object: JsonObject, visit: VisitEmbedded, type: MetadataType): readonly string[] {
  const unknownFields = new ReportedPaths();
  visit(object, "", (resource, path) => {
    for (const name of ["apiVersion", "kind"])
      if (Object.hasOwn(resource, name) && typeof resource[name] !== "string")
        throw mismatch(childPath(path, name), resource[name], "must be a string");
    if (!Object.hasOwn(resource, "metadata")) return;
    const field = childPath(path, "metadata");
    const metadata = decodeEmbedded(resource["metadata"], field, type);
    resource["metadata"] = metadata.object;
    for (const unknown of metadata.unknownFields) unknownFields.add(`${field}.${unknown}`);
  });
  return unknownFields.list().toSorted();
}

function decodeEmbedded(value: unknown, field: string, type: MetadataType): TypedObject {
  try {
    return decodeMetadata(value, type);
  } catch (error) {
    throw error instanceof TypeMismatchError ? mismatch(field, value, error.message) : error;
  }
}

function mismatch(field: string, value: unknown, why: string): TypeMismatchError {
  return new TypeMismatchError(`${field}: Invalid value: ${shownValue(value)}: ${why}`);
}

/**
 * Removes fields of the wrong type from the embedded resources of a stored object, in place. Returns whether the object
 * has changed.
 */
export function repairEmbedded(object: JsonObject, visit: VisitEmbedded, type: MetadataType): boolean {
  let hasChanged = false;
  visit(object, "", (resource) => {
    for (const name of ["apiVersion", "kind"])
      if (Object.hasOwn(resource, name) && typeof resource[name] !== "string") {
        delete resource[name];
        hasChanged = true;
      }
    const { metadata } = resource;
    if (!isJsonObject(metadata)) return;
    const repaired = repairMetadata(metadata, type);
    if (jsonEquals(repaired, metadata)) return;
    resource["metadata"] = repaired;
    hasChanged = true;
  });
  return hasChanged;
}

function repairMetadata(metadata: JsonObject, type: MetadataType): JsonObject {
  try {
    return decodeMetadata(metadata, type).object;
  } catch (error) {
    if (!(error instanceof TypeMismatchError)) throw error;
    const fitting = Object.entries(metadata).filter((member) => isFitting(member, type));
    return decodeMetadata(Object.fromEntries(fitting), type).object;
  }
}

function isFitting(member: readonly [string, unknown], type: MetadataType): boolean {
  try {
    decodeMetadata(Object.fromEntries([member]), type);
    return true;
  } catch (error) {
    if (error instanceof TypeMismatchError) return false;
    throw error;
  }
}

export interface EmbeddedRules {
  readonly type: MetadataType;
  readonly metadataErrors: MetadataErrors;
}

/** Validates each embedded resource as an object of its own. */
export function embeddedErrors(object: JsonObject, visit: VisitEmbedded, rules: EmbeddedRules): FieldError[] {
  const errors: FieldError[] = [];
  visit(object, "", (resource, path) => {
    if (errors.length < ERRORS_MAX) errors.push(...firstErrors(resourceErrors(resource, path, rules)));
  });
  return errors;
}

const ERRORS_MAX = 100;

function* resourceErrors(resource: JsonObject, path: string, rules: EmbeddedRules): Generator<FieldError> {
  for (const name of ["apiVersion", "kind"]) if (!Object.hasOwn(resource, name)) yield required(childPath(path, name));
  yield* textErrors(resource, { field: childPath(path, "apiVersion"), name: "apiVersion" }, apiVersionProblem);
  yield* textErrors(resource, { field: childPath(path, "kind"), name: "kind" }, kindProblem);
  if (!Object.hasOwn(resource, "metadata")) return;
  const field = childPath(path, "metadata");
  const metadata = decodedOrError(resource["metadata"], field, rules.type);
  if (!("object" in metadata)) {
    yield metadata;
    return;
  }
  // An embedded resource needs no name, so an empty name is replaced by a valid one for the check.
  const named = stringAt(metadata.object, "name") === "" ? { ...metadata.object, name: "fakename" } : metadata.object;
  for (const error of rules.metadataErrors(named)) yield { ...error, field: childPath(path, error.field) };
}

function* textErrors(
  resource: JsonObject,
  { field, name }: { readonly field: string; readonly name: string },
  problemOf: (text: string) => string | undefined,
): Generator<FieldError> {
  if (!Object.hasOwn(resource, name)) return;
  const value = resource[name];
  const problem = typeof value === "string" ? problemOf(value) : "must be a string";
  if (problem !== undefined) yield invalidValue(field, value, problem);
}

function apiVersionProblem(text: string): string | undefined {
  if (text === "") return "must not be empty";
  return text.split("/", 3).length > 2 ? `unexpected GroupVersion string: ${text}` : undefined;
}

function kindProblem(text: string): string | undefined {
  if (text === "") return "must not be empty";
  const errors = dns1035LabelErrors(text.toLowerCase());
  return errors.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${errors.join(",")}`;
}

function decodedOrError(value: unknown, field: string, type: MetadataType): TypedObject | FieldError {
  try {
    return decodeMetadata(value, type);
  } catch (error) {
    if (!(error instanceof TypeMismatchError)) throw error;
    const message = `Invalid value: ${typeof value === "string" ? shownValue(value) : sortedGoJson(value)}: ${error.message}`;
    return { field, reason: "FieldValueInvalid", message };
  }
}
