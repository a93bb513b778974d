/**
 * Handles the annotation in which client-side apply stores the applied object. A client that continues with server-side
 * apply as the manager `kubectl` takes over the fields in which the annotation and the live object agree, and the
 * server updates the annotation.
 */
import { annotationsOf, isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX, measureJson } from "../json/json-text.ts";
import { checkApplied } from "./applied-check.ts";
import type { FieldSet } from "./field-set.ts";
import { FieldSetError } from "./path-element.ts";
import type { TrackedRequest } from "./tracking.ts";
import { changedFields, fieldsOf } from "./typed-set.ts";
import { sortedGoJson } from "../../meta/go-json.ts";

export const LAST_APPLIED_MANAGER = "kubectl";
const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";
const ANNOTATIONS_BYTES_MAX = 256 * 1024;

/** The fields that `kubectl` may change without a conflict; undefined if the object has no valid annotation. */
export function lastAppliedFields(
  live: JsonObject,
  { schema, apiVersion, absentFields = "zero" }: Pick<TrackedRequest, "schema" | "apiVersion" | "absentFields">,
): FieldSet | undefined {
  const last = parseObject(stringAt(annotationsOf(live), ANNOTATION));
  if (last === undefined || last["apiVersion"] !== apiVersion || checkApplied(last, schema).problem !== undefined)
    return undefined;
  try {
    const { changed, removed } = changedFields(last, live, schema, absentFields);
    return fieldsOf(last, schema).difference(changed).difference(removed);
  } catch (error) {
    if (error instanceof FieldSetError) return undefined;
    throw error;
  }
}

function parseObject(text: string): JsonObject | undefined {
  if (text === "" || measureJson(Buffer.from(text)).depth > JSON_DEPTH_MAX) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces the value of an existing annotation by the applied object; removes the annotation if it would be too long.
 */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (stringAt(annotations, ANNOTATION) === "") return object;
  const { [ANNOTATION]: _before, ...others } = annotations;
  const next = { ...others, [ANNOTATION]: `${sortedGoJson(withoutAnnotation(applied))}\n` };
  const kept = sizeOf(next) > ANNOTATIONS_BYTES_MAX ? others : next;
  if (jsonEquals(kept, annotations)) return object;
  return { ...object, metadata: { ...objectAt(object, "metadata"), annotations: kept } };
}

function withoutAnnotation(applied: JsonObject): JsonObject {
  const annotations = annotationsOf(applied);
  if (annotations[ANNOTATION] === undefined) return applied;
  const { [ANNOTATION]: _own, ...others } = annotations;
  return { ...applied, metadata: { ...objectAt(applied, "metadata"), annotations: others } };
}

function sizeOf(annotations: JsonObject): number {
  return Object.keys(annotations).reduce(
    (sum, name) => sum + Buffer.byteLength(name) + Buffer.byteLength(stringAt(annotations, name)),
    0,
  );
}
