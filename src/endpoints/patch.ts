/** Patches: the body read once, applied to whatever is there. */
import { isJsonObject, type JsonObject } from "../meta/json.ts";
import { badRequest, requestEntityTooLarge, StatusError } from "../meta/status-error.ts";
import {
  applyJsonPatch,
  JSON_PATCH_OPERATIONS_MAX,
  JsonPatchError,
  parseJsonPatch,
} from "../object/patch/json-patch.ts";
import { findDuplicateMembers } from "../object/json-text.ts";
import { applyMergePatch } from "../object/patch/merge-patch.ts";
import type { Omission } from "../object/unknown-fields.ts";
import type { ServedResource } from "../registry/resource.ts";
import { contentType, decodeAs, parseJsonBody, readBody, type DecodeContext } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { judgeOf } from "./field-loss.ts";
import { writeOptions } from "./options.ts";
import type { WriteWish } from "./write-wish.ts";

/** Those of Kubernetes that can be applied here so far. */
export const PATCH_TYPES: ReadonlySet<string> = new Set([
  "application/json-patch+json",
  "application/merge-patch+json",
]);

type Patch = (existing: JsonObject) => unknown;

export async function readPatch(call: EndpointCall, kind: ServedResource): Promise<WriteWish> {
  const { request } = call;
  const type = contentType(request);
  if (!PATCH_TYPES.has(type)) {
    throw new StatusError("UnsupportedMediaType", "415: Unsupported Media Type", { details: {} });
  }
  const { dryRun, fieldValidation, manager } = writeOptions(request, "PatchOptions");
  const bytes = await readBody(request);
  const value = parseJsonBody(bytes, (why) => badRequest(`error decoding patch: ${why}`));
  const repeated = repeatedMembers(type, bytes);
  const isJsonPatch = type === "application/json-patch+json";
  const apply = isJsonPatch ? jsonPatch(value) : mergePatch(value);
  const omission = isJsonPatch ? "removed" : "removed-outside-lists";
  const checks = {
    validation: fieldValidation,
    syntaxProblems: repeated,
    judge: judgeOf(call, bytes),
  };
  let warnings: readonly string[] = [];
  const next = (existing: JsonObject): JsonObject => {
    const decoded = decodePatched(kind, apply(existing), { ...checks, existing, omission });
    warnings = decoded.warnings;
    return decoded.object;
  };
  return { manager, dryRun, next, warnings: () => warnings };
}

function mergePatch(value: unknown): Patch {
  if (!isJsonObject(value))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into Go value of type map[string]interface {}`,
    );
  return (existing) => applyMergePatch(existing, value);
}

function jsonPatch(value: unknown): Patch {
  if (!Array.isArray(value)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${isJsonObject(value) ? "object" : typeof value} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  if (value.length > JSON_PATCH_OPERATIONS_MAX) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ${value.length}`,
    );
  }
  return (existing) => {
    try {
      return applyJsonPatch(existing, parseJsonPatch(value));
    } catch (thrown) {
      if (!(thrown instanceof JsonPatchError)) throw thrown;
      throw new StatusError("Invalid", "the server rejected our request due to an error in our request", {
        details: {},
        cause: thrown,
      });
    }
  };
}

/** Members that stand twice in the text of the patch itself; a JSON Patch's are named apart. */
function repeatedMembers(type: string, bytes: Buffer): string[] {
  const prefix = type === "application/json-patch+json" ? "json patch duplicate field" : "duplicate field";
  return findDuplicateMembers(bytes.toString("utf8")).map((path) => `${prefix} ${JSON.stringify(path)}`);
}

type PatchChecks = DecodeContext & { readonly existing: JsonObject; readonly omission: Omission };

function decodePatched(
  served: ServedResource,
  value: unknown,
  checks: Omit<PatchChecks, "bytes" | "problem">,
): ReturnType<typeof decodeAs> {
  if (!isJsonObject(value)) throw invalidPatch("the patched object is not an object");
  return decodeAs(served, value, {
    ...checks,
    bytes: undefined,
    problem: (_kind, _version, why) => invalidPatch(why),
  });
}

function invalidPatch(why: string): StatusError {
  const cause = { reason: "FieldValueInvalid" as const, message: `Invalid value: ${why}`, field: "patch" };
  return new StatusError("Invalid", ` "" is invalid: patch: Invalid value: ${why}`, { details: { causes: [cause] } });
}
