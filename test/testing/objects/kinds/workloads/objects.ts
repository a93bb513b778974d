/** Workloads for tests of validation, and the validation errors as text. */
import { gatesOf } from "../../../../../src/objects/catalog/release-gates.ts";
import { firstErrors } from "../../../../../src/meta/field-errors.ts";
import type { JsonObject } from "../../../../../src/meta/json.ts";
import type { FieldError } from "../../../../../src/meta/status-error.ts";
import type { Kind, KindContext } from "../../../../../src/objects/kinds/kind.ts";

export const CONTEXT: KindContext = { gates: gatesOf("1.36"), time: "2030-01-01T00:00:00Z", ipFamilies: ["IPv4"] };

export function template(labels: JsonObject = { app: "web" }, spec: JsonObject = {}): JsonObject {
  return { metadata: { labels }, spec: { containers: [{ name: "c", image: "example/app:1" }], ...spec } };
}

/** A workload whose selector matches its template. */
export function workload(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: { selector: { matchLabels: { app: "web" } }, template: template(), ...spec },
  };
}

export function defaulted(kind: Kind, object: JsonObject, context: KindContext = CONTEXT): JsonObject {
  const copy = structuredClone(object);
  kind.setDefaults?.(copy, context);
  return copy;
}

/** Errors as "field: message". */
export function sentences(errors: Iterable<FieldError> | undefined): string[] {
  return firstErrors(errors ?? []).map(({ field, message }) => `${field}: ${message}`);
}

/** A new object with defaults, prepared for storage. */
export function prepared(kind: Kind, object: JsonObject, context: KindContext = CONTEXT): JsonObject {
  const copy = defaulted(kind, object, context);
  kind.prepareCreate?.(copy, context);
  return copy;
}

export function created(kind: Kind, object: JsonObject, context: KindContext = CONTEXT): string[] {
  return sentences(kind.createErrors?.(prepared(kind, object, context), context));
}

/** Validation errors of an update, after defaults and preparation, as in the registry. */
export function updated(kind: Kind, before: JsonObject, after: JsonObject, context: KindContext = CONTEXT): string[] {
  const existing = prepared(kind, before, context);
  const next = defaulted(kind, after, context);
  kind.prepareUpdate?.(next, existing, context);
  return sentences(kind.updateErrors?.(next, existing, context));
}

export function statusUpdated(
  kind: Kind,
  before: JsonObject,
  status: JsonObject,
  context: KindContext = CONTEXT,
): string[] {
  const existing = defaulted(kind, before, context);
  const next = defaulted(kind, { ...before, status }, context);
  kind.prepareStatusUpdate?.(next, existing, context);
  return sentences(kind.statusUpdateErrors?.(next, existing, context));
}
