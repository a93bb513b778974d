/** Pods for tests of validation, and the validation errors as text. */
import { gatesOf } from "../../../../../src/objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../../../src/objects/catalog/release.ts";
import type { JsonObject } from "../../../../../src/meta/json.ts";
import type { FieldError } from "../../../../../src/meta/status-error.ts";
import type { KindContext } from "../../../../../src/objects/kinds/kind.ts";
import { setPodDefaults } from "../../../../../src/objects/kinds/pods/pod-defaults.ts";

export const CONTEXT: KindContext = { gates: gatesOf("1.36"), time: "2030-01-01T00:00:00Z", ipFamilies: ["IPv4"] };

export function release(name: ReleaseName): KindContext {
  return { ...CONTEXT, gates: gatesOf(name) };
}

/** A pod with this spec and with all defaults. */
export function pod(spec: JsonObject = {}, metadata: JsonObject = {}, context = CONTEXT): JsonObject {
  const object = {
    metadata: { name: "p", namespace: "default", ...metadata },
    spec: { containers: [{ name: "c", image: "example/app:1" }], ...structuredClone(spec) },
  };
  setPodDefaults(object, context);
  return object;
}

export function container(more: JsonObject): JsonObject {
  return { containers: [{ name: "c", image: "example/app:1", ...more }] };
}

export function messagesOf(errors: Iterable<FieldError>): string[] {
  return [...errors].map(({ field, message }) => `${field}: ${message}`);
}
