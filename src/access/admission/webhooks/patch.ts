/** Parses the JSON patch in a webhook's response and applies it with kubernetes' error messages. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { describeSyntaxError, JSON_DEPTH_MAX, measureJson, parseJsonText } from "../../../objects/json/json-text.ts";
import { applyJsonPatch, JSON_PATCH_OPERATIONS_MAX, JsonPatchError } from "../../../objects/patch/json-patch.ts";
import { describePatchProblem } from "./patch-error.ts";
import type { Webhook } from "./webhook.ts";
import { goJson, sortedMap } from "../../../meta/go-json.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

/** The error of a patch that is invalid or cannot be applied. Its message is returned to clients. */
export class PatchProblem extends Error {
  override readonly name = "PatchProblem";
}

/** Returns the operations. Throws a PatchProblem. */
export function readWebhookPatch(bytes: Buffer): readonly unknown[] {
  const value = parse(bytes);
  if (value === null) return [];
  if (!isList(value)) throw unfit(value, "Patch");
  const other = value.find((item) => !isJsonObject(item) && item !== null);
  if (other !== undefined) throw unfit(other, "Operation");
  // DIFFERS: kube-apiserver applies this limit only to patches that clients send.
  if (value.length > JSON_PATCH_OPERATIONS_MAX)
    throw new PatchProblem(
      `The allowed maximum operations in a JSON patch is ${JSON_PATCH_OPERATIONS_MAX}, got ${value.length}`,
    );
  return value;
}

function parse(bytes: Buffer): unknown {
  if (measureJson(bytes).depth > JSON_DEPTH_MAX) throw new PatchProblem("exceeded max depth");
  try {
    return parseJsonText(bytes.toString("utf8"));
  } catch {
    throw new PatchProblem(describeSyntaxError(bytes));
  }
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function unfit(value: unknown, type: "Patch" | "Operation"): PatchProblem {
  return new PatchProblem(unmarshalError(value, `value of type jsonpatch.${type}`));
}

/** Returns the patched object as a new object. Throws a PatchProblem. */
export function patched(document: JsonObject, operations: readonly unknown[]): JsonObject {
  let value: unknown;
  try {
    value = applyJsonPatch(document, operations);
  } catch (thrown) {
    if (!(thrown instanceof JsonPatchError)) throw thrown;
    throw new PatchProblem(failedOperation(document, operations) ?? thrown.message, { cause: thrown });
  }
  if (isJsonObject(value)) return value;
  throw new PatchProblem(
    String.raw`couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`,
  );
}

/**
 * Returns the error of the first operation that fails. Finds it by binary search, because a prefix of the patch
 * succeeds exactly if it ends before that operation.
 */
function failedOperation(document: JsonObject, operations: readonly unknown[]): string | undefined {
  let applied: unknown = document;
  let good = 0;
  let bad = operations.length;
  while (good + 1 < bad) {
    const middle = (good + bad) >> 1;
    try {
      applied = applyJsonPatch(document, operations.slice(0, middle));
      good = middle;
    } catch {
      bad = middle;
    }
  }
  return describePatchProblem(applied, operations[good]);
}

/**
 * The patch for the audit event. As in Go, the fields of each operation are sorted, and HTML characters are escaped.
 */
export function patchAnnotation(
  { configuration, name }: Pick<Webhook, "configuration" | "name">,
  operations: readonly unknown[],
): string {
  const patch = operations.map((operation) => (isJsonObject(operation) ? sortedMap(operation) : operation));
  return goJson({ configuration, webhook: name, patch, patchType: "JSONPatch" });
}
