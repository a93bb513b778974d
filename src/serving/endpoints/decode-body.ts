/**
 * Decodes request bodies: parses the bytes as JSON, YAML or protobuf, and converts the value to an object of the kind
 * that the path serves.
 */
import type { WithInfo } from "../http/filters/request-info.ts";
import { BodyTooLargeError, headerValue, type ApiRequest } from "../http/message.ts";
import { parseMediaType } from "../http/negotiate.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { badRequest, requestEntityTooLarge, unsupportedMediaType } from "../../meta/status-error.ts";
import { findFieldProblems } from "../../objects/field-problems.ts";
import {
  describeSyntaxError,
  findDuplicateMembers,
  JSON_DEPTH_MAX,
  measureJson,
  parseJsonText,
} from "../../objects/json/json-text.ts";
import { jsonKind } from "../../meta/go-fmt.ts";
import { goZeros, type GoZeros } from "../../objects/go/go-zeros.ts";
import {
  decodeProtobufObject,
  PROTOBUF_MEDIA_TYPE,
  ProtobufDecodeError,
  type ProtobufTables,
} from "../../objects/protobuf/decode.ts";
import { decodeTyped, TypeMismatchError } from "../../objects/typed-decode.ts";
import {
  hasUnknownFields,
  settleUnknownFields,
  type Omission,
  type SettledFields,
} from "../../objects/unknown-fields.ts";
import { parseYaml, YamlError } from "../../objects/yaml/yaml.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import { otherKind } from "./body-kind.ts";
import { customTypeOf } from "./custom-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { judgeOf, type ForwardedRequest, type JudgeFields } from "./field-loss.ts";
import { BODY_BYTES_MAX } from "./endpoint-limits.ts";
import type { FieldValidation } from "./options.ts";
import { withUniqueOwners } from "./owner-references.ts";

const ACCEPTED_BODIES: readonly string[] = ["application/json", "application/yaml", PROTOBUF_MEDIA_TYPE];

/** The body types of custom resources. Protobuf is not among them, because a CRD has no protobuf schema. */
const CUSTOM_BODIES: readonly string[] = ["application/json", "application/yaml"];

export interface DecodedBody {
  readonly object: JsonObject;
  /** Texts for the Warning header. */
  readonly warnings: readonly string[];
}

export async function readRequestBody(request: ApiRequest): Promise<Buffer> {
  try {
    return await request.body.read(BODY_BYTES_MAX);
  } catch (thrown) {
    if (thrown instanceof BodyTooLargeError) throw requestEntityTooLarge(`limit is ${BODY_BYTES_MAX}`);
    throw thrown;
  }
}

export function contentType(request: ApiRequest): string {
  const header = headerValue(request.headers, "content-type");
  return header === undefined || header === "" ? "application/json" : parseMediaType(header).type;
}

/**
 * Decodes the body of a create. Without `fieldLoss`, the result does not depend on whether peers know the unknown
 * fields.
 */
export function decodeObject(
  call: BodySource & { readonly fieldLoss?: undefined },
  validation: FieldValidation,
): Promise<DecodedBody>;
export function decodeObject(call: BodySource, validation: FieldValidation): Promise<DecodedBody | ForwardedRequest>;
export async function decodeObject(
  call: BodySource,
  validation: FieldValidation,
): Promise<DecodedBody | ForwardedRequest> {
  return (await readObject(call, validation)).asNew();
}

/**
 * A decoded body. The final object also depends on the existing object, because fields that the release does not know
 * may keep their stored values.
 */
export interface SentObject {
  /** The body without fields that the release does not know. */
  readonly known: JsonObject;
  asNew(): DecodedBody | ForwardedRequest;
  /** Returns the object that replaces `existing`. */
  inPlaceOf(existing: JsonObject): DecodedBody | ForwardedRequest;
}

/**
 * Reads and decodes the body. `kindOf` selects the kind if the path accepts several versions of the body; by default it
 * is the served kind.
 */
export async function readObject(
  call: BodySource,
  validation: FieldValidation,
  kindOf: (value: JsonObject) => ServedResource = () => call.served,
): Promise<SentObject> {
  const { request, served } = call;
  const unrecognized = (why: string): Error =>
    badRequest(`the object provided is unrecognized (must be of type ${served.kind}): ${why}`);
  // DIFFERS: kubernetes closes the connection.
  if (served.custom !== undefined && contentType(request) === PROTOBUF_MEDIA_TYPE)
    throw unsupportedMediaType(CUSTOM_BODIES);
  const bytes = await readRequestBody(request);
  const body = parseBody(call, bytes, (why) => unrecognized(`${why} (${summary(bytes)})`));
  // As Go: null decodes to an empty object.
  const value = body.value ?? {};
  if (!isJsonObject(value)) throw unrecognized(`${notAnObject(value)} (${summary(bytes)})`);
  const untyped = typeMetaError(value);
  if (untyped !== undefined) throw unrecognized(`${untyped} (${summary(bytes)})`);
  const context: DecodeContext = {
    bytes: contentType(request) === "application/json" ? bytes : undefined,
    members: body.members,
    syntaxProblems: body.problems,
    validation,
    judge: judgeOf(call, bytes),
    zeros: goZeros(call.protobuf),
    isWhole: true,
    problem: (kind, version, why) =>
      kind === ""
        ? unrecognized(`${why} (${summary(bytes)})`)
        : badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${served.kind}: ${why}`),
  };
  const wanted = kindOf(value);
  const typed = typeOf(wanted, value, context);
  return {
    known: typed.object,
    asNew: () => settled(wanted, typed, context),
    inPlaceOf: (existing) => settled(wanted, typed, { ...context, existing, omission: "not-known" }),
  };
}

interface ParsedBody {
  readonly value: unknown;
  /** Field validation problems of the text: duplicate keys in YAML. */
  readonly problems: readonly string[];
  /** Number of fields in the JSON text, including duplicates; undefined for other formats. */
  readonly members?: number;
}

interface BodySource extends Pick<EndpointCall, "fieldLoss"> {
  readonly request: WithInfo;
  readonly served: ServedResource;
  readonly protobuf: () => ProtobufTables;
}

/** Parses the body according to its media type. */
export function parseBody(
  call: Pick<BodySource, "protobuf"> & { readonly request: ApiRequest },
  bytes: Buffer,
  problem: (why: string) => Error,
): ParsedBody {
  const type = contentType(call.request);
  if (type === "application/json") {
    return parseJson(bytes, (why) => problem(`couldn't get version/kind; json parse error: ${why}`));
  }
  try {
    if (type === PROTOBUF_MEDIA_TYPE) return { value: decodeProtobufObject(bytes, call.protobuf()), problems: [] };
    if (type === "application/yaml") return parseYamlBody(bytes);
  } catch (thrown) {
    if (thrown instanceof ProtobufDecodeError || thrown instanceof YamlError) throw problem(thrown.message);
    throw thrown;
  }
  throw unsupportedMediaType(ACCEPTED_BODIES);
}

function parseYamlBody(bytes: Buffer): ParsedBody {
  const { value, repeatedKeys } = parseYaml(bytes.toString("utf8"));
  return {
    value,
    problems: repeatedKeys.length === 0 ? [] : [["yaml: unmarshal errors:", ...repeatedKeys].join("\n  ")],
  };
}

/** Parses JSON with a depth limit and with the error messages of Go. */
export function parseJsonBody(bytes: Buffer, problem: (why: string) => Error): unknown {
  return parseJson(bytes, problem).value;
}

function parseJson(bytes: Buffer, problem: (why: string) => Error): ParsedBody {
  const { depth, members } = measureJson(bytes);
  if (depth > JSON_DEPTH_MAX) throw problem("exceeded max depth");
  try {
    return { value: parseJsonText(bytes.toString("utf8")), problems: [], members };
  } catch {
    throw problem(describeSyntaxError(bytes));
  }
}

export interface DecodeContext {
  /**
   * The JSON text of the value, in which duplicate fields are found; undefined if the value was not parsed from JSON.
   */
  readonly bytes: Buffer | undefined;
  /** Number of fields in `bytes`, if already counted. */
  readonly members?: number | undefined;
  readonly syntaxProblems?: readonly string[];
  readonly validation: FieldValidation;
  /** Decides about fields that only peers know. Undefined if unknown fields are subject to field validation only. */
  readonly judge?: JudgeFields | undefined;
  readonly zeros?: GoZeros | undefined;
  /** True if the value is the body itself, false if it is the result of a patch. */
  readonly isWhole?: boolean;
  /** Creates the error for an invalid value. `kind` is "" if the body does not determine it. */
  readonly problem: (kind: string, version: string, why: string) => Error;
}

/**
 * Decodes a parsed value as the kind that the path serves. Without `judge`, the result does not depend on whether peers
 * know the unknown fields.
 */
export function decodeAs(
  served: ServedResource,
  value: JsonObject,
  context: DecodeContext & ExistingObject & { readonly judge?: undefined },
): DecodedBody;
export function decodeAs(
  served: ServedResource,
  value: JsonObject,
  context: DecodeContext & ExistingObject,
): DecodedBody | ForwardedRequest;
export function decodeAs(
  served: ServedResource,
  value: JsonObject,
  context: DecodeContext & ExistingObject,
): DecodedBody | ForwardedRequest {
  return settled(served, typeOf(served, value, context), context);
}

/** The object that the body replaces; undefined for a create. */
type ExistingObject =
  | { readonly existing?: undefined }
  | { readonly existing: JsonObject; readonly omission: Omission };

/** A body whose values were converted to the types of the release. */
export interface TypedBody {
  readonly value: JsonObject;
  readonly kind: string;
  readonly apiVersion: string;
  /** The body without fields that the release does not know. */
  readonly object: JsonObject;
  readonly unknownFields: readonly string[];
}

function typeOf(served: ServedResource, value: JsonObject, context: DecodeContext & ExistingObject): TypedBody {
  const { problem, zeros } = context;
  if (served.custom !== undefined) return customTypeOf(served, served.custom, { ...context, value });
  const kind = typeof value["kind"] === "string" && value["kind"] !== "" ? value["kind"] : served.kind;
  const apiVersion =
    typeof value["apiVersion"] === "string" && value["apiVersion"] !== "" ? value["apiVersion"] : served.apiVersion;
  const { version } = parseGroupVersion(apiVersion);
  const other = otherKind(served, { kind, apiVersion });
  if (other?.is === "version" && context.isWhole === true) throw badRequest(other.why);
  if (other !== undefined)
    throw other.is === "malformed" ? problem("", "", other.why) : problem(kind, version, other.why);
  try {
    return { value, kind, apiVersion, ...decodeTyped(value, served.schema, { zeros }) };
  } catch (thrown) {
    if (thrown instanceof TypeMismatchError) throw problem(kind, version, thrown.message);
    throw thrown;
  }
}

/** Adds the fields that the release does not know: they keep their stored values, unless the body changes them. */
function settled(
  served: ServedResource,
  typed: TypedBody,
  context: DecodeContext & ExistingObject,
): DecodedBody | ForwardedRequest {
  const { object, repeated, named, isNamedCut } = settledFields(served, typed, context);
  const { kind, apiVersion } = typed;
  const losses = named.length === 0 ? [] : (context.judge?.({ served, fields: named, isCut: isNamedCut }) ?? []);
  if (losses instanceof Forwarded) return losses;
  const problems = context.validation === "Ignore" ? [] : bodyProblems(served, typed, { ...context, repeated });
  if (context.validation === "Strict" && problems.length > 0) {
    const { version } = parseGroupVersion(apiVersion);
    throw context.problem(kind, version, `strict decoding error: ${problems.join(", ")}`);
  }
  const owned = withUniqueOwners(object);
  return { object: { ...owned.object, kind, apiVersion }, warnings: [...problems, ...losses, ...owned.warnings] };
}

const NOTHING_REPEATED: ReadonlySet<string> = new Set();

function settledFields(
  { schema }: ServedResource,
  { value, object, unknownFields }: TypedBody,
  context: ExistingObject,
): SettledFields {
  const { existing } = context;
  // Fields that the CRD does not specify are pruned. All servers share the CRD, so no peer knows these fields.
  if (schema.isCustom === true) return { object, repeated: NOTHING_REPEATED, named: [], isNamedCut: false };
  const isAllKnown = unknownFields.length === 0 && (existing === undefined || !hasUnknownFields(existing, schema));
  if (isAllKnown) return { object, repeated: NOTHING_REPEATED, named: [], isNamedCut: false };
  const omission = existing === undefined ? "not-known" : context.omission;
  return settleUnknownFields({ sent: value, known: object, existing: existing ?? {}, schema, omission });
}

function bodyProblems(
  served: ServedResource,
  { value, unknownFields }: TypedBody,
  context: DecodeContext & { readonly repeated: ReadonlySet<string> },
): string[] {
  const problems = [...(context.syntaxProblems ?? []), ...fieldProblems(served, { ...context, value, unknownFields })];
  if (context.repeated.size === 0) return problems;
  const harmless = new Set([...context.repeated].map(unknownField));
  return problems.filter((problem) => !harmless.has(problem));
}

function unknownField(path: string): string {
  return `unknown field ${JSON.stringify(path)}`;
}

function duplicateField(path: string): string {
  return `duplicate field ${JSON.stringify(path)}`;
}

/**
 * Returns the unknown and duplicate fields. Parses the text a second time only if there is a problem: an unknown field,
 * or more fields in the text than in the value.
 */
function fieldProblems(
  served: ServedResource,
  what: Pick<DecodeContext, "bytes" | "members"> & { value: JsonObject; unknownFields: readonly string[] },
): string[] {
  const { value, unknownFields, bytes } = what;
  const unknown = unknownFields.map(unknownField);
  if (bytes === undefined) return unknown;
  const { members = measureJson(bytes).members } = what;
  const hasDuplicates = members !== countMembers(value);
  if (served.custom !== undefined)
    return hasDuplicates ? [...findDuplicateMembers(bytes.toString("utf8")).map(duplicateField), ...unknown] : unknown;
  return unknown.length === 0 && !hasDuplicates ? [] : findFieldProblems(bytes.toString("utf8"), served.schema);
}

function countMembers(value: unknown): number {
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countMembers(item);
  else if (isJsonObject(value)) for (const key of Object.keys(value)) count += 1 + countMembers(value[key]);
  return count;
}

/** As Go: kind and apiVersion are checked before all other fields. */
export function typeMetaError(value: JsonObject): string | undefined {
  for (const field of Object.keys(value)) {
    if (field !== "apiVersion" && field !== "kind") continue;
    const member = value[field];
    if (member !== null && member !== undefined && typeof member !== "string")
      return `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonKind(member)} into Go struct field .${field} of type string`;
  }
  return undefined;
}

export function notAnObject(value: unknown): string {
  const kind = jsonKind(value);
  const target = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  return `couldn't get version/kind; json parse error: json: cannot unmarshal ${kind} into Go value of type ${target}`;
}

const SUMMARY_BYTES = 30;

/**
 * The beginning of a body that could not be decoded, for the error message: as text if it looks like JSON, otherwise in
 * hexadecimal.
 */
function summary(bytes: Buffer): string {
  if (bytes.length === 0) return "<empty>";
  const start = bytes.subarray(0, SUMMARY_BYTES);
  const more = bytes.length > SUMMARY_BYTES ? " ..." : "";
  return (bytes[0] === 0x7b ? start.toString("utf8") : start.toString("hex")) + more;
}

const WARNING_BYTES_MAX = 4 * 1024;
const WARNING_CHARACTERS_MAX = 256;

/**
 * Sends each warning once. If the headers would be too long, each warning is truncated and the last ones are omitted.
 */
export function warningHeaders(warnings: readonly string[]): Record<string, string[]> {
  if (warnings.length === 0) return {};
  const distinct = [...new Set(warnings)];
  const isTooMuch = distinct.reduce((sum, warning) => sum + warning.length, 0) > WARNING_BYTES_MAX;
  const lines: string[] = [];
  let bytes = 0;
  for (const warning of distinct) {
    const line = `299 - "${quotable(isTooMuch ? warning.slice(0, WARNING_CHARACTERS_MAX) : warning)}"`;
    bytes += line.length;
    if (bytes > WARNING_BYTES_MAX && lines.length > 0) break;
    lines.push(line);
  }
  return { warning: lines };
}

/**
 * Escapes a text for a quoted string in a header: line breaks and tabs become spaces, and all other characters except
 * printable ASCII become question marks.
 */
function quotable(text: string): string {
  return text
    .replace(/[\r\n\t]\s*/g, " ")
    .replace(/[\\"]/g, String.raw`\$&`)
    .replace(/[^\x20-\x7e]/gu, "?");
}
