/** Decodes bodies of custom resources, and rejects bodies of another kind with the messages of kube-apiserver. */
import { parseGroupVersion } from "../../meta/group-version.ts";
import { cutValue, invalidValue } from "../../meta/field-errors.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { badRequest, invalid } from "../../meta/status-error.ts";
import { TypeMismatchError } from "../../objects/typed-decode.ts";
import type { CustomShape, ServedResource } from "../registry/resource.ts";
import type { DecodeContext, TypedBody } from "./decode-body.ts";

interface CustomBody extends Pick<DecodeContext, "bytes" | "problem"> {
  readonly value: JsonObject;
  /** For a patch, the object to which the patch was applied. */
  readonly existing?: JsonObject | undefined;
}

/** Decodes the body. It must contain its kind and apiVersion, unlike a body of a built-in kind. */
export function customTypeOf(served: ServedResource, custom: CustomShape, body: CustomBody): TypedBody {
  const { value, bytes, problem } = body;
  const apiVersion = stringAt(value, "apiVersion");
  const kind = stringAt(value, "kind");
  if (apiVersion.split("/").length > 2) throw problem("", "", `unexpected GroupVersion string: ${apiVersion}`);
  if (kind === "") throw problem("", "", missingKind(value, bytes));
  const { version } = parseGroupVersion(apiVersion);
  const object = cloneJson(value);
  if (hasHugeNumber(object))
    throw problem(kind, version, `json: cannot unmarshal number ${hugeNumber(bytes)} into Go value of type float64`);
  const decoded = decodedBy(custom, object, (why) => problem(kind, version, why));
  rejectOtherType(served, decoded.object, body.existing !== undefined);
  return { value, kind, apiVersion, ...decoded };
}

function decodedBy(
  custom: CustomShape,
  object: JsonObject,
  problem: (why: string) => Error,
): ReturnType<CustomShape["decode"]> {
  try {
    return custom.decode(object);
  } catch (thrown) {
    throw thrown instanceof TypeMismatchError ? problem(thrown.message) : thrown;
  }
}

function missingKind(value: JsonObject, bytes: Buffer | undefined): string {
  return `Object 'Kind' is missing in '${cutValue(bytes?.toString("utf8") ?? JSON.stringify(value))}'`;
}

/** DIFFERS: a patch that removes apiVersion returns 422 (Invalid); kubernetes returns an internal error. */
function rejectOtherType(served: ServedResource, object: JsonObject, isPatched: boolean): void {
  const apiVersion = stringAt(object, "apiVersion");
  const kind = stringAt(object, "kind");
  if (apiVersion !== served.apiVersion && !isPatched)
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${served.apiVersion})`,
    );
  const errors = [
    ...(kind === served.kind ? [] : [invalidValue("kind", kind, `must be ${served.kind}`)]),
    ...(apiVersion === served.apiVersion
      ? []
      : [invalidValue("apiVersion", apiVersion, `must be ${served.apiVersion}`)]),
  ];
  if (errors.length === 0) return;
  const { group } = parseGroupVersion(apiVersion);
  throw invalid({ group, kind }, stringAt(objectAt(object, "metadata"), "name"), errors);
}

/** True if a number exceeds float64. The JSON parser returns such numbers as Infinity. */
function hasHugeNumber(object: JsonObject): boolean {
  const open: object[] = [object];
  for (let value = open.pop(); value !== undefined; value = open.pop())
    for (const member of Object.values(value) as unknown[]) {
      if (member === Infinity || member === -Infinity) return true;
      if (typeof member === "object" && member !== null) open.push(member);
    }
  return false;
}

const WORD = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"{}[\],:]+/g;

function hugeNumber(bytes: Buffer | undefined): string {
  for (const [word] of bytes?.toString("utf8").matchAll(WORD) ?? [])
    if (!word.startsWith('"') && Math.abs(Number(word)) === Infinity) return cutValue(word);
  return "";
}
