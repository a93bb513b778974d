/** Decodes the body of a server-side apply: YAML or JSON with the fields that the field manager wants to own. */
import type { WithInfo } from "../http/filters/request-info.ts";
import { cloneJson, isJsonObject, type JsonObject } from "../../meta/json.ts";
import { badRequest, StatusError, type FieldError } from "../../meta/status-error.ts";
import { checkApplied } from "../../objects/managed-fields/applied-check.ts";
import { withNulls } from "../../objects/managed-fields/nulls.ts";
import { findDuplicateMembers, JSON_DEPTH_MAX, measureJson, parseJsonText } from "../../objects/json/json-text.ts";
import { goZeros } from "../../objects/go/go-zeros.ts";
import { decodeTyped, TypeMismatchError } from "../../objects/typed-decode.ts";
import { settleUnknownFields } from "../../objects/unknown-fields.ts";
import { parseYaml, YamlError } from "../../objects/yaml/yaml.ts";
import { kindText, objectText, rejectUnappliable, type AppliedObject } from "../registry/apply.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import { readRequestBody } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { judgeOf, type ForwardedRequest, type JudgeFields } from "./field-loss.ts";
import { writeOptions, type FieldValidation, type WriteParameters } from "./options.ts";
import { unmarshalError } from "../../meta/go-fmt.ts";

export const APPLY_PATCH_TYPE = "application/apply-patch+yaml";

export interface RequestedApply {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  /**
   * Decodes the body, or throws the error of an invalid body. Not called if the object is absent and cannot be created.
   */
  readonly applied: () => AppliedObject | ForwardedRequest;
  readonly warnings: () => readonly string[];
}

/**
 * Reads the apply request. `kind` is the kind of the body: that of the resource, or that of a subresource such as
 * Scale.
 */
export async function readApply(call: EndpointCall, kind: ServedResource): Promise<RequestedApply> {
  const { request } = call;
  const { dryRun, fieldValidation, manager } = applyOptions(request);
  const bytes = await readRequestBody(request);
  const judge = judgeOf(call, bytes);
  const zeros = goZeros(call.protobuf);
  let applied: AppliedObject | ForwardedRequest | undefined;
  let warnings: readonly string[] = [];
  const warn = (reported: readonly string[]): void => void (warnings = reported);
  return {
    manager,
    dryRun,
    force: isForced(request),
    applied: () => (applied ??= appliedBody(kind, bytes, { validation: fieldValidation, judge, zeros, warn })),
    warnings: () => warnings,
  };
}

function isForced({ query }: WithInfo): boolean {
  const force = query.get("force");
  return force !== undefined && force !== "0" && force.toLowerCase() !== "false";
}

/** Rejects an apply without an explicit field manager; the user agent is not used instead. */
function applyOptions(request: WithInfo): WriteParameters {
  const isNamed = (request.query.get("fieldManager") ?? "") !== "";
  const required: FieldError = {
    field: "fieldManager",
    reason: "FieldValueRequired",
    message: "Required value: is required for apply patch",
  };
  return writeOptions(request, "PatchOptions", isNamed ? [] : [required]);
}

/** Rejects `force` in patches other than apply. */
export function rejectForce(request: WithInfo): void {
  if (request.query.get("force") === undefined) return;
  const message = "Forbidden: may not be specified for non-apply patch";
  writeOptions(request, "PatchOptions", [{ field: "force", reason: "FieldValueForbidden", message }]);
}

interface ApplyContext extends Pick<AppliedObject, "zeros"> {
  readonly validation: FieldValidation;
  readonly judge: JudgeFields | undefined;
  readonly warn: (warnings: readonly string[]) => void;
}

function appliedBody(kind: ServedResource, bytes: Buffer, context: ApplyContext): AppliedObject | ForwardedRequest {
  const { judge, zeros } = context;
  const { value, repeatedKeys } = parseApplied(bytes);
  // As Go: null decodes to an empty object.
  const sent = value ?? {};
  if (!isJsonObject(sent)) throw undecodable(`error unmarshaling JSON: while decoding JSON: ${notAMap(sent)}`);
  rejectUnappliable(kind, sent);
  const check = checkApplied(sent, kind.schema);
  const verdict = check.hasUndeclaredField ? judgeUndeclared(kind, sent, judge) : undefined;
  if (verdict instanceof Forwarded) return verdict;
  if (check.problem !== undefined)
    throw new StatusError("", `failed to create typed patch object (${objectText(sent)}): ${check.problem}`);
  const known = typed(kind, sent);
  return {
    sent,
    // DIFFERS: quantities are compared by value; kubernetes treats 1 as different from "1".
    applied: check.hasNull ? withNulls(known, sent) : known,
    hasNull: check.hasNull,
    zeros,
    accept: () => reportRepeated(repeatedKeys, context),
  };
}

function reportRepeated(keys: readonly string[], { validation, warn }: ApplyContext): void {
  if (keys.length === 0 || validation === "Ignore") return;
  if (validation === "Strict") throw repeated(keys);
  warn(keys);
}

const OPEN_BRACE = 0x7b;

/**
 * Tries the JSON parser first, because most bodies are JSON and the JSON parser is much faster than the YAML parser.
 */
function parseApplied(bytes: Buffer): ReturnType<typeof parseYaml> {
  if (bytes[0] === OPEN_BRACE && measureJson(bytes).depth <= JSON_DEPTH_MAX) {
    const text = bytes.toString("utf8");
    const value = parsedJson(text);
    if (value !== undefined && findDuplicateMembers(text).length === 0) return { value, repeatedKeys: [] };
  }
  try {
    return parseYaml(bytes.toString("utf8"));
  } catch (thrown) {
    if (thrown instanceof YamlError) throw undecodable(`error converting YAML to JSON: ${thrown.message}`);
    throw thrown;
  }
}

function parsedJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

function undecodable(why: string): StatusError {
  return badRequest(`error decoding YAML: ${why}`);
}

function notAMap(value: unknown): string {
  return unmarshalError(value, "value of type map[string]interface {}");
}

function repeated(keys: readonly string[]): StatusError {
  const lines = ["yaml: unmarshal errors:", ...keys].join("\n  ");
  return badRequest(`error strict decoding YAML: error converting YAML to JSON: ${lines}`);
}

/**
 * Asks `judge` about fields that this release does not know. They are not rejected here, because a peer may know them.
 */
function judgeUndeclared(
  kind: ServedResource,
  sent: JsonObject,
  judge: JudgeFields | undefined,
): ReturnType<JudgeFields> {
  if (judge === undefined) return [];
  const { schema } = kind;
  const known = knownOf(kind, sent);
  if (known === undefined) return [];
  const { named, isNamedCut } = settleUnknownFields({ sent, known, existing: {}, schema, omission: "not-known" });
  return judge({ served: kind, fields: named, isCut: isNamedCut });
}

function knownOf({ schema }: ServedResource, sent: JsonObject): JsonObject | undefined {
  try {
    return decodeTyped(sent, schema).object;
  } catch (thrown) {
    if (thrown instanceof TypeMismatchError) return undefined;
    throw thrown;
  }
}

/**
 * Converts the values to the types of the release, and rejects those that the schema alone cannot reject: a number that
 * is not an integer, a text that is not a time or a quantity.
 */
function typed({ schema, custom }: ServedResource, sent: JsonObject): JsonObject {
  try {
    // DIFFERS: invalid metadata of a custom resource is rejected; kubernetes drops the invalid fields.
    if (custom !== undefined) return custom.decode(cloneJson(sent)).object;
    return decodeTyped(sent, schema, { keepsEmpty: true }).object;
  } catch (thrown) {
    if (!(thrown instanceof TypeMismatchError)) throw thrown;
    const why = `unable to convert unstructured object to ${kindText(sent)}: ${conversionText(thrown.message)}`;
    throw new StatusError("", `failed to convert new object (${objectText(sent)}) to proper version: ${why}`);
  }
}

const NOT_WHOLE = /^json: cannot unmarshal number .* of type (\w+)$/;

/** Translates the message of the decoder to that of Go's converter, where the two differ. */
function conversionText(why: string): string {
  if (why.startsWith("illegal base64 data")) return `error decoding from json: ${why}`;
  return why.replace(NOT_WHOLE, "cannot convert float64 to $1");
}
