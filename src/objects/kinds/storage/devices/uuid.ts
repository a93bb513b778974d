/** Validation of the share IDs of devices. */
import { invalidValue } from "../../../../meta/field-errors.ts";
import type { FieldError } from "../../../../meta/status-error.ts";

const UUID_BYTES = 36;
const URN_PREFIX = "urn:uuid:";
const HYPHENATED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const PLAIN = /^[0-9a-f]{32}$/i;

export function* uuidErrors(uid: string, field: string): Generator<FieldError> {
  const problem = uuidProblem(uid);
  if (problem !== undefined) yield invalidValue(field, uid, `error validating uid: ${problem}`);
  else if (uid.length !== UUID_BYTES || uid !== uid.toLowerCase())
    yield invalidValue(
      field,
      uid,
      "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters",
    );
}

/** The length decides the accepted form: with a prefix, in braces, without hyphens, or canonical. */
function uuidProblem(uid: string): string | undefined {
  const bytes = Buffer.byteLength(uid);
  const badFormat = "invalid UUID format";
  switch (bytes) {
    case UUID_BYTES:
      return HYPHENATED.test(uid) ? undefined : badFormat;
    case UUID_BYTES + URN_PREFIX.length: {
      const prefix = uid.slice(0, URN_PREFIX.length);
      if (prefix.toLowerCase() !== URN_PREFIX) return `invalid urn prefix: ${JSON.stringify(prefix)}`;
      return HYPHENATED.test(uid.slice(URN_PREFIX.length)) ? undefined : badFormat;
    }
    case UUID_BYTES + "{}".length:
      if (!uid.startsWith("{") || !uid.endsWith("}")) return "invalid bracketed UUID format";
      return HYPHENATED.test(uid.slice(1, -1)) ? undefined : badFormat;
    case UUID_BYTES - "----".length:
      return PLAIN.test(uid) ? undefined : badFormat;
    default:
      return `invalid UUID length: ${bytes}`;
  }
}
