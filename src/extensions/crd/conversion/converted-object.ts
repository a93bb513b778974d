/**
 * Validates an object that a webhook has converted. Its metadata may differ from that of the original only in labels
 * and annotations. Pure.
 */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { annotationsErrors } from "../../../objects/kinds/pods/rules/annotation-rules.ts";
import { labelsErrors } from "../../../objects/kinds/checks.ts";
import { cutValue, firstErrors } from "../../../meta/field-errors.ts";
import { formatGroupVersion, parseGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { cloneJson, isJsonObject, objectAt, setMember, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { goType, jsonKind } from "../../../meta/go-fmt.ts";

type ConvertedObject =
  | { readonly kind: "accepted"; readonly object: JsonObject }
  /** `why` follows "conversion webhook for … " in the error message; if `isBare`, `why` is the whole message. */
  | { readonly kind: "refused"; readonly why: string; readonly isBare?: boolean };

interface ConversionRequest {
  readonly original: JsonObject;
  readonly to: GroupVersion;
  /** Index of the object in the webhook's response. */
  readonly index: number;
}

/** Takes ownership of `converted`, the object that the webhook sent, and modifies it. */
export function acceptConverted(converted: unknown, { original, to, index }: ConversionRequest): ConvertedObject {
  const problem = notAnObject(converted);
  if (problem !== undefined || !isJsonObject(converted)) return { kind: "refused", why: problem ?? "", isBare: true };
  const mismatch = typeMismatch(converted, original, to);
  if (mismatch !== undefined) return conversionRejected(`returned invalid object at index ${index}: ${mismatch}`);
  const other = identityMismatch(converted, original);
  if (other !== undefined) return conversionRejected(`returned invalid object: ${other}`);
  const restored = restoreMetadata(converted, original);
  if (typeof restored === "string") return conversionRejected(`returned invalid metadata: ${restored}`);
  return { kind: "accepted", object: { ...converted, metadata: restored } };
}

function conversionRejected(why: string): ConvertedObject {
  return { kind: "refused", why };
}

/**
 * Returns the error of Go's decoder if the value is not an object with a kind; the error depends on the type of the
 * JSON value.
 */
function notAnObject(value: unknown): string | undefined {
  if (value === null || value === undefined) return "unexpected end of JSON input";
  if (!isJsonObject(value))
    return `json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`;
  // As kubernetes: an apiVersion with two slashes cannot be parsed, and the error then names the kind.
  return stringAt(value, "kind") === "" || stringAt(value, "apiVersion").split("/", 3).length > 2
    ? `Object 'Kind' is missing in '${cutValue(JSON.stringify(value))}'`
    : undefined;
}

function typeMismatch(converted: JsonObject, original: JsonObject, to: GroupVersion): string | undefined {
  const expected = formatGroupVersion(to);
  const received = formatGroupVersion(parseGroupVersion(stringAt(converted, "apiVersion")));
  if (received !== expected) return `invalid groupVersion (expected ${expected}, received ${received})`;
  const [kind, sentKind] = [stringAt(original, "kind"), stringAt(converted, "kind")];
  return kind === sentKind ? undefined : `invalid kind (expected ${kind}, received ${sentKind})`;
}

function identityMismatch(converted: JsonObject, original: JsonObject): string | undefined {
  const [before, after] = [objectAt(original, "metadata"), objectAt(converted, "metadata")];
  for (const [member, title] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["uid", "UID"],
  ] as const) {
    const [expected, actual] = [stringAt(before, member), stringAt(after, member)];
    if (expected !== actual) return `must have the same ${title}: ${expected} != ${actual}`;
  }
  return undefined;
}

/** The metadata of the original with the labels and annotations of the converted object, or the error in these. */
function restoreMetadata(converted: JsonObject, original: JsonObject): JsonObject | string {
  const { metadata } = converted;
  if (metadata === undefined) return "missing metadata in converted object";
  if (!isJsonObject(metadata)) return `invalid metadata of type ${goType(metadata)} in converted object`;
  const restored = cloneJson(objectAt(original, "metadata"));
  for (const field of ["labels", "annotations"] as const) {
    const sent = metadata[field];
    if (sent === undefined || sent === null) {
      delete restored[field];
      continue;
    }
    if (!isJsonObject(sent)) return `invalid metadata.${field} of type ${goType(sent)} in converted object`;
    const problem = textsProblem(sent, objectAt(restored, field), field);
    if (problem !== undefined) return problem;
    setMember(restored, field, sent);
  }
  return restored;
}

function textsProblem(sent: JsonObject, before: JsonObject, field: "labels" | "annotations"): string | undefined {
  const keys = Object.keys(sent);
  let isChanged = keys.length !== Object.keys(before).length;
  for (const key of keys) {
    const value = sent[key];
    if (typeof value !== "string")
      return `metadata.${field}[${key}] must be a string, but is ${goType(value)} in converted object`;
    isChanged ||= !Object.hasOwn(before, key) || before[key] !== value;
  }
  if (!isChanged) return undefined;
  // As kubernetes: the path is "metadata.annotation", without an "s".
  const errors =
    field === "labels" ? labelsErrors(sent, "metadata.labels") : annotationsErrors(sent, "metadata.annotation");
  return aggregated(firstErrors(errors));
}

function aggregated(errors: readonly FieldError[]): string | undefined {
  return errors.length === 0 ? undefined : aggregateText(errors.map(({ field, message }) => `${field}: ${message}`));
}
