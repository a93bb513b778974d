/** Applies the defaults, preparation and validation of a kind to one object, as the registry does. */
import { gatesOf } from "../../../../../src/objects/catalog/release-gates.ts";
import { cloneJson, type JsonObject } from "../../../../../src/meta/json.ts";
import type { FieldError } from "../../../../../src/meta/status-error.ts";
import type { Kind, KindContext } from "../../../../../src/objects/kinds/kind.ts";

export const CONTEXT: KindContext = { gates: gatesOf("1.36"), time: "2026-01-01T00:00:00Z", ipFamilies: ["IPv4"] };

export function defaulted(kind: Kind, object: JsonObject, context = CONTEXT): JsonObject {
  const copy = cloneJson(object);
  kind.setDefaults?.(copy, context);
  return copy;
}

/** A new object with defaults, prepared for storage. */
export function prepared(kind: Kind, object: JsonObject, context = CONTEXT): JsonObject {
  const copy = defaulted(kind, object, context);
  kind.prepareCreate?.(copy, context);
  return copy;
}

/** Validation errors of a create. */
export function createErrorsOf(kind: Kind, object: JsonObject, context = CONTEXT): string[] {
  return sentences(kind.createErrors?.(prepared(kind, object, context), context));
}

/** Validation errors of an update. */
export function updateErrorsOf(kind: Kind, before: JsonObject, after: JsonObject, context = CONTEXT): string[] {
  const existing = prepared(kind, before, context);
  const object = defaulted(kind, after, context);
  kind.prepareUpdate?.(object, existing, context);
  return sentences(kind.updateErrors?.(object, existing, context));
}

export function statusUpdateErrorsOf(kind: Kind, before: JsonObject, after: JsonObject, context = CONTEXT): string[] {
  const existing = defaulted(kind, before, context);
  const object = defaulted(kind, after, context);
  kind.prepareStatusUpdate?.(object, existing, context);
  return sentences(kind.statusUpdateErrors?.(object, existing, context));
}

export function warningsOf(kind: Kind, object: JsonObject, context = CONTEXT): string[] {
  return [...(kind.warnings?.(prepared(kind, object, context), undefined, context) ?? [])];
}

function sentences(errors: Iterable<FieldError> = []): string[] {
  return [...errors].map(({ field, message }) => `${field}: ${message}`);
}
