/** What is wrong with a field, in the sentences clients know. */
import { goJson } from "./go-json.ts";
import { goQuote } from "./go-quote.ts";
import type { FieldError } from "./status-error.ts";

/** A body can hold a million mistakes; DIFFERS: kubernetes tells all of them. */
const ERRORS_TOLD_MAX = 100;

/** Each may show the value it is about: the answer must not outgrow the body by more than that. */
const CHARACTERS_TOLD_MAX = 64 * 1024;

/** The first errors of a check that goes no further than it is asked. */
export function firstErrors(errors: Iterable<FieldError>): FieldError[] {
  const told: FieldError[] = [];
  let characters = 0;
  for (const error of errors) {
    told.push(error);
    characters += error.field.length + error.message.length;
    if (told.length === ERRORS_TOLD_MAX || characters > CHARACTERS_TOLD_MAX) break;
  }
  return told;
}

/** DIFFERS: the end of what nobody could read to the end is left out. */
const VALUE_CHARACTERS_MAX = 256 * 1024;

export function cutValue(text: string): string {
  return text.length > VALUE_CHARACTERS_MAX ? `${text.slice(0, VALUE_CHARACTERS_MAX)}...` : text;
}

function shown(value: unknown): string {
  return cutValue(typeof value === "string" ? goQuote(value) : (JSON.stringify(value) ?? "null"));
}

export function required(field: string, why = ""): FieldError {
  return { field, reason: "FieldValueRequired", message: why === "" ? "Required value" : `Required value: ${why}` };
}

export function invalidValue(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown(value)}: ${why}` };
}

/** Of a value that is no scalar: Go writes it as JSON that is safe to stand in HTML. */
export function invalidGoValue(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${cutValue(goJson(value))}: ${why}` };
}

/** A list of strings is shown as Go writes it. */
export function invalidList(field: string, values: readonly string[], why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${goStrings(values)}: ${why}` };
}

function goStrings(values: readonly string[]): string {
  return values.length === 0 ? "null" : `[]string{${values.map((value) => JSON.stringify(value)).join(", ")}}`;
}

export function forbiddenField(field: string, why: string): FieldError {
  return { field, reason: "FieldValueForbidden", message: why === "" ? "Forbidden" : `Forbidden: ${why}` };
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

export function notFoundValue(field: string, value: unknown): FieldError {
  return { field, reason: "FieldValueNotFound", message: `Not found: ${shown(value)}` };
}

/** Kubernetes lists what is supported in the order of the alphabet; so must the caller. */
export function unsupportedValue(field: string, value: unknown, supported: Iterable<string>): FieldError {
  const list = [...supported].map((one) => JSON.stringify(one)).join(", ");
  const message = `Unsupported value: ${shown(value)}: supported values: ${list}`;
  return { field, reason: "FieldValueNotSupported", message };
}

export function tooLong(field: string, bytesMax: number): FieldError {
  return { field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${bytesMax} bytes` };
}

export function tooMany(field: string, count: number, max: number): FieldError {
  const items = max === 1 ? "item" : "items";
  return { field, reason: "FieldValueTooMany", message: `Too many: ${count}: must have at most ${max} ${items}` };
}
