/**
 * Parses JSON patches, merge patches and strategic merge patches, and applies them to an object. Server-side apply is
 * in apply.ts.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import { badRequest, requestEntityTooLarge, StatusError } from "../../meta/status-error.ts";
import { findDuplicateMembers, ReportedPaths } from "../../objects/json/json-text.ts";
import { jsonKind } from "../../meta/go-fmt.ts";
import { applyJsonPatch, JSON_PATCH_OPERATIONS_MAX, JsonPatchError } from "../../objects/patch/json-patch.ts";
import { applyMergePatch } from "../../objects/patch/merge-patch.ts";
import { printed, StrategicPatchError } from "../../objects/patch/strategic-error.ts";
import { applyStrategicMergePatch } from "../../objects/patch/strategic-merge.ts";
import { unstructuredError } from "../../objects/patch/unstructured-error.ts";
import { hasUnknownFields, type Omission } from "../../objects/unknown-fields.ts";
import type { ServedResource } from "../registry/resource.ts";
import { parseJsonBody } from "./decode-body.ts";
import type { FieldValidation } from "./options.ts";

export interface PatchBody {
  readonly apply: (existing: JsonObject) => unknown;
  /** Field validation problems in the text of the patch. */
  readonly problems: readonly string[];
  readonly omission: Omission;
  /** Creates the error for an invalid patched object. */
  readonly invalidError: (why: string, patched: JsonObject) => StatusError;
}

interface PatchText {
  readonly bytes: Buffer;
  readonly validation: FieldValidation;
  readonly kind: ServedResource;
}

type ReadPatchBody = (text: PatchText) => PatchBody;

export const READERS: ReadonlyMap<string, ReadPatchBody> = new Map([
  ["application/json-patch+json", readJsonPatch],
  ["application/merge-patch+json", readMergePatch],
  ["application/strategic-merge-patch+json", readStrategicPatch],
]);

function readJsonPatch({ bytes, validation }: PatchText): PatchBody {
  const isLax = validation === "Ignore";
  const refuse = (why: string): StatusError => badRequest(isLax ? why : `error decoding patch: ${why}`);
  const operations = parseJsonBody(bytes, refuse) ?? [];
  const why = isLax ? operationsError(operations) : typedOperationsError(operations);
  if (why !== undefined) throw refuse(why);
  const list = operations as unknown[];
  if (list.length > JSON_PATCH_OPERATIONS_MAX) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ${list.length}`,
    );
  }
  return {
    apply: (existing) => jsonPatched(existing, list),
    problems: isLax ? [] : operationProblems(bytes, list),
    omission: "removed",
    invalidError: invalidPatch,
  };
}

function jsonPatched(existing: JsonObject, operations: readonly unknown[]): unknown {
  try {
    return applyJsonPatch(existing, operations);
  } catch (thrown) {
    throw thrown instanceof JsonPatchError ? unprocessable(thrown) : thrown;
  }
}

/** Returns the error of Go's decoder for operations with arbitrary fields. */
function operationsError(value: unknown): string | undefined {
  if (!Array.isArray(value)) return unmarshalError(value, "jsonpatch.Patch");
  const nonObject: unknown = value.find((item) => item !== null && !isJsonObject(item));
  return nonObject === undefined ? undefined : unmarshalError(nonObject, "jsonpatch.Operation");
}

const TEXT_MEMBERS: ReadonlySet<string> = new Set(["op", "path", "from"]);

/** Returns the error of Go's decoder for operations with typed fields. */
function typedOperationsError(value: unknown): string | undefined {
  if (!Array.isArray(value)) return unmarshalError(value, "[]handlers.jsonPatchOp");
  for (const item of value) {
    if (item === null) continue;
    if (!isJsonObject(item)) return unmarshalError(item, "handlers.jsonPatchOp");
    for (const key of Object.keys(item)) {
      const member = item[key];
      if (!TEXT_MEMBERS.has(key) || member === null || typeof member === "string") continue;
      return `json: cannot unmarshal ${jsonKind(member)} into Go struct field jsonPatchOp.${key} of type string`;
    }
  }
  return undefined;
}

function unmarshalError(value: unknown, type: string): string {
  return `json: cannot unmarshal ${jsonKind(value)} into Go value of type ${type}`;
}

function operationProblems(bytes: Buffer, operations: readonly unknown[]): string[] {
  const unknown = new ReportedPaths();
  operations.forEach((operation, index) => {
    if (!isJsonObject(operation) || unknown.isFull) return;
    for (const key of Object.keys(operation)) {
      if (!TEXT_MEMBERS.has(key) && key !== "value") unknown.add(`[${index}].${key}`);
    }
  });
  return [
    ...duplicateMembers(bytes).map((problem) => `json patch ${problem}`),
    ...unknown.list().map((path) => `json patch unknown field ${JSON.stringify(path)}`),
  ];
}

function readMergePatch({ bytes, validation }: PatchText): PatchBody {
  const isLax = validation === "Ignore";
  const value = parseJsonBody(bytes, (why) => badMergePatch(why, isLax));
  if (!isJsonObject(value) && value !== null && (!isLax || !Array.isArray(value))) {
    throw badMergePatch(unmarshalError(value, "map[string]interface {}"), isLax);
  }
  if (value === null) throw badRequest("Invalid JSON Patch");
  return {
    apply: (existing) => applyMergePatch(existing, value),
    problems: isLax ? [] : duplicateMembers(bytes),
    omission: "removed-outside-lists",
    invalidError: invalidPatch,
  };
}

/** As kubernetes: the message says "JSON Patch", although the patch is a merge patch. */
function badMergePatch(why: string, isLax: boolean): StatusError {
  return badRequest(isLax ? "Invalid JSON Patch" : `error decoding patch: ${why}`);
}

function readStrategicPatch({ bytes, validation, kind }: PatchText): PatchBody {
  const patch = parseJsonBody(bytes, badRequest) ?? {};
  if (!isJsonObject(patch)) throw badRequest(unmarshalError(patch, "map[string]interface {}"));
  return {
    apply: (existing) => strategicallyPatched(existing, patch, kind),
    problems: validation === "Ignore" ? [] : duplicateMembers(bytes),
    // In a list with a merge key, only the items that the patch removes lose their unknown fields. A patch that
    // replaces a whole list replaces all items.
    omission: "removed",
    invalidError: (why, patched) => {
      const reason = why.startsWith("strict decoding error: ") ? why : (unstructuredError(patched, kind.schema) ?? why);
      return invalidPatch(`${JSON.stringify(printed(patch))}: ${reason}`);
    },
  };
}

/** Applies the patch. The result has the kind and apiVersion of the path, even if the patch changes them. */
function strategicallyPatched(existing: JsonObject, patch: JsonObject, kind: ServedResource): JsonObject {
  const patched = strategicMerge(existing, patch, kind);
  const { kind: patchedKind, apiVersion } = patched;
  return {
    // Fields are sorted by name, because unknown fields are reported in that order.
    ...(hasUnknownFields(patched, kind.schema) ? (withSortedMembers(patched) as JsonObject) : patched),
    ...(isText(patchedKind) ? { kind: kind.kind } : {}),
    ...(isText(apiVersion) ? { apiVersion: kind.apiVersion } : {}),
  };
}

function withSortedMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedMembers);
  if (!isJsonObject(value)) return value;
  const sorted: JsonObject = {};
  for (const key of Object.keys(value).toSorted()) setMember(sorted, key, withSortedMembers(value[key]));
  return sorted;
}

function isText(value: unknown): boolean {
  return typeof value === "string" || value === undefined;
}

function strategicMerge(existing: JsonObject, patch: JsonObject, kind: ServedResource): JsonObject {
  try {
    return applyStrategicMergePatch(existing, patch, kind.schema);
  } catch (thrown) {
    if (!(thrown instanceof StrategicPatchError)) throw thrown;
    if (thrown.problem === "bad-request") throw badRequest(thrown.message);
    throw thrown.problem === "unprocessable" ? unprocessable(thrown) : new StatusError("", thrown.message);
  }
}

/** The duplicate fields in the text of the patch. */
function duplicateMembers(bytes: Buffer): string[] {
  return findDuplicateMembers(bytes.toString("utf8")).map((path) => `duplicate field ${JSON.stringify(path)}`);
}

function unprocessable(cause: Error): StatusError {
  return new StatusError("Invalid", "the server rejected our request due to an error in our request", {
    details: {},
    cause,
  });
}

/**
 * As kubernetes: the message begins with a space and an empty name, because it names no kind and no object. DIFFERS:
 * for a JSON patch or merge patch, the message does not contain the patched object.
 */
export function invalidPatch(why: string): StatusError {
  const cause = { reason: "FieldValueInvalid" as const, message: `Invalid value: ${why}`, field: "patch" };
  return new StatusError("Invalid", ` "" is invalid: patch: Invalid value: ${why}`, { details: { causes: [cause] } });
}
