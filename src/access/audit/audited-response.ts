/** Derives the response status and object of an audit event from a response or a thrown error. Pure. */
import { headerValue, type ApiResponse } from "../../serving/http/message.ts";
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import type { Status, StatusError } from "../../meta/status-error.ts";
import type { ResponseStatus } from "./event.ts";
import { readAuditObject, textOf, type ReadBody, type ReadObject } from "./objects.ts";

export interface AuditedResponse {
  readonly status: ResponseStatus;
  readonly object: ReadObject | undefined;
}

/**
 * An upper limit for the size of a Status. If the event does not include the response object, the server parses only
 * responses up to this size, and only those that may be a Status: errors, responses to deletes, and responses that
 * begin like a Status.
 */
const STATUS_BYTES_MAX = 256 * 1024;

const PROTOBUF = "application/vnd.kubernetes.protobuf";
/** Media types in which responses carry objects; other types, such as HTML and plain text, carry none. */
const OBJECT_TYPES: ReadonlySet<string> = new Set([
  "application/json",
  "application/yaml",
  "application/cbor",
  PROTOBUF,
]);

export function auditedResponse(
  response: ApiResponse,
  options: {
    readonly wantsObject: boolean;
    readonly omitManagedFields: boolean;
    readonly verb: string;
    readonly read: ReadBody | undefined;
  },
): AuditedResponse {
  const { status: code, body } = response;
  const mediaType = mediaTypeOf(headerValue(response.headers, "content-type"));
  if (body.kind !== "bytes" || !OBJECT_TYPES.has(mediaType)) return { status: { code }, object: undefined };
  const mayBeStatus = code >= 400 || options.verb.startsWith("delete") || beginsAsStatus(body.chunks);
  const length = body.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (!options.wantsObject && (!mayBeStatus || length > STATUS_BYTES_MAX))
    return { status: { code }, object: undefined };
  const bytes = body.chunks.length === 1 ? body.chunks[0]! : Buffer.concat(body.chunks);
  const { read, omitManagedFields } = options;
  const object = readAuditObject(bytes, { mediaType, read, omitManagedFields });
  if (object.kind !== "json") return { status: { code }, object };
  // JSON without a kind, such as /version or an OpenAPI document, is not an API object.
  if (!isJsonObject(object.value) || stringAt(object.value, "kind") === "")
    return { status: { code }, object: undefined };
  return { status: mayBeStatus ? statusIn(object.value, code) : { code }, object };
}

const STATUS_BEGINNING = Buffer.from('{"kind":"Status",');

/** True for the JSON of a Status, such as the response to an eviction or binding. */
function beginsAsStatus([first]: readonly Buffer[]): boolean {
  return first?.subarray(0, STATUS_BEGINNING.length).equals(STATUS_BEGINNING) ?? false;
}

/** Status and object of an error response: the Status that the client receives. */
export function auditedErrorResponse(error: StatusError): AuditedResponse {
  const status = error.toStatus();
  return { status: { ...boundedStatus(status), code: error.code }, object: textOf(status, false) };
}

/**
 * As kubernetes: the Status in the audit event of a handler that throws an unexpected error
 * (endpoints/filters/audit.go).
 */
export function panicOf(thrown: unknown): AuditedResponse {
  const said = thrown instanceof Error ? thrown.message : String(thrown);
  const message = `APIServer panic'd: ${said}`;
  return { status: { status: "Failure", message, reason: "InternalError", code: 500 }, object: undefined };
}

/** As kubernetes: the response is unknown because the client disconnected. */
export const CLOSED_EARLY: AuditedResponse = {
  status: { status: "Success", message: "Connection closed early", code: 200 },
  object: undefined,
};

export function mediaTypeOf(contentType: string | undefined): string {
  const [type = ""] = (contentType ?? "").split(";", 1);
  return type.trim().toLowerCase();
}

function statusIn(value: JsonObject, code: number): ResponseStatus {
  if (value["kind"] !== "Status" || value["apiVersion"] !== "v1") return { code };
  return { ...boundedStatus(value), code };
}

function boundedStatus({ status, message, reason, details }: Partial<Status>): ResponseStatus {
  return {
    ...(status === undefined ? {} : { status }),
    ...(message === undefined || message === "" ? {} : { message }),
    ...(reason === undefined || reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
  };
}
