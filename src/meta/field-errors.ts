/** Creates field errors with Kubernetes' messages. */
import { goJson } from "./go-json.ts";
import { goQuote } from "./go-quote.ts";
import type { FieldError } from "./status-error.ts";

/** Limit of reported errors, because a body can hold a million mistakes. DIFFERS: kubernetes reports all of them. */
const ERRORS_REPORTED_MAX = 100;

/**
 * Limit of the total length of reported errors. Each error may quote its value, and many quotes would make the response
 * far larger than the body.
 */
const CHARACTERS_REPORTED_MAX = 64 * 1024;

/** The first errors within these limits. If `errors` is a generator, its validation stops when a limit is reached. */
export function firstErrors(errors: Iterable<FieldError>): FieldError[] {
  const reported: FieldError[] = [];
  let characters = 0;
  for (const error of errors) {
    reported.push(error);
    characters += error.field.length + error.message.length;
    if (reported.length === ERRORS_REPORTED_MAX || characters > CHARACTERS_REPORTED_MAX) break;
  }
  return reported;
}

/** DIFFERS: longer values are truncated in messages. */
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

/** An error about a value that is not a scalar, which Go writes as HTML-safe JSON. */
export function invalidGoValue(field: string, value: unknown, why: string): FieldError {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${cutValue(goJson(value))}: ${why}` };
}

/** An error about a list of strings, which is shown as Go writes it. */
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

/** The caller must pass the supported values in alphabetical order, as Kubernetes lists them. */
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
