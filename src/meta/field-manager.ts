/** Validation of field manager names. */
import { invalidValue, tooLong } from "./field-errors.ts";
import type { FieldError } from "./status-error.ts";

const FIELD_MANAGER_BYTES_MAX = 128;
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Matches nearly all valid names. */
const PLAIN = /^[ -~]{0,128}$/;

export function* fieldManagerErrors(manager: string, field: string): Generator<FieldError> {
  if (PLAIN.test(manager)) return;
  if (Buffer.byteLength(manager) > FIELD_MANAGER_BYTES_MAX) yield tooLong(field, FIELD_MANAGER_BYTES_MAX);
  let position = 0;
  for (const character of manager) {
    if (!PRINTABLE.test(character)) {
      const why = `invalid character ${codePoint(character)} (at position ${position})`;
      yield invalidValue(field, manager, why);
    }
    position += Buffer.byteLength(character);
  }
}

/** An unprintable character as Go's %#U writes it: `U+000A`. */
function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
