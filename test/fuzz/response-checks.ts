/** Checks the invariants that every single response must satisfy, whatever the request was. */
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { isJsonObject, type JsonObject } from "../../src/meta/json.ts";
import { HTTP_CODE } from "../../src/meta/status-error.ts";
import { decodeProtobufObject, PROTOBUF_MEDIA_TYPE } from "../../src/objects/protobuf/decode.ts";
import { parseYaml } from "../../src/objects/yaml/yaml.ts";
import type { FuzzRequest } from "./cases.ts";
import type { FuzzResponse } from "./subject.ts";

/** A violated invariant. */
export interface Finding {
  /** The invariant, in a short constant text. */
  readonly invariant: string;
  /** The observed violation. */
  readonly what: string;
}

const REASONS: ReadonlySet<string> = new Set(Object.keys(HTTP_CODE));
const SHOWN_CHARACTERS = 600;

export function checkResponse(request: FuzzRequest, response: FuzzResponse): Finding[] {
  const { status, contentType, text } = response;
  if (status >= 500 && !isExcused(request, response)) return [broken("no server errors", shown(response))];
  if (status >= 400 && text.length > longestFailure(request))
    return [broken("the size of a failure response is bounded", `${text.length} characters: ${shown(response)}`)];
  if (status === 304 || status === 204 || request.method === "HEAD" || text === "") return [];
  if (contentType.startsWith("text/plain")) return checkText(response);
  if (contentType.startsWith("application/json")) return checkJson(request, response);
  if (contentType.startsWith("application/yaml")) return checkEncoded(response, "YAML");
  if (contentType === PROTOBUF_MEDIA_TYPE) return checkEncoded(response, "protobuf");
  return status < 400 ? [] : [broken("failure responses have a known content type", shown(response))];
}

/**
 * The maximum length of a failure response: 256 KiB plus 16 times the length of the request. A failure may repeat a
 * value of the request in its message and in its details, but not once for each error about the value.
 */
function longestFailure({ body = "", target }: FuzzRequest): number {
  return 256 * 1024 + 16 * (body.length + target.length);
}

/**
 * Whether a server error is allowed: requests to nodes and services that do not exist, requests for a future resource
 * version or with a timeout, and the 500s that kube-apiserver also returns.
 */
function isExcused({ target, headers }: FuzzRequest, answer: FuzzResponse): boolean {
  const { status, text } = answer;
  if (status === 503) return /\/(proxy|log|exec|attach|portforward)(\/|\?|$)/.test(target);
  if (status === 504) return text.includes("Too large resource version") || /timeout/i.test(target);
  const value = bodyOf(answer);
  if (!isJsonObject(value) || value["code"] !== 500 || value["reason"] !== undefined) return false;
  if (/\/bindings?(\?|$)/.test(target)) return true;
  const known = [...KUBE_500S, ...(KUBE_PATCH_500S[headers["content-type"] ?? ""] ?? [])];
  return known.some((sentence) => sentence.test(String(value["message"])));
}

/** Messages for which kube-apiserver also returns a 500 without a reason; clients rely on it. */
const KUBE_500S: readonly RegExp[] = [
  /^strconv\.ParseUint: parsing /,
  /^resourceVersion: Invalid value: .*strconv\.ParseUint: parsing /,
  /^resourceVersion should not be set on objects to be created$/,
  /^Non-matching dry-run options in request and content: /,
];

/** Messages about patches that cannot be merged, by patch type, for which kube-apiserver also returns a 500. */
const KUBE_PATCH_500S: Readonly<Record<string, readonly RegExp[]>> = {
  "application/apply-patch+yaml": [
    /^failed to create typed patch object /,
    /^failed to convert new object .* to proper version: /s,
  ],
  "application/strategic-merge-patch+json": [
    /^unknown patch type: /,
    /^unable to find api field in struct /,
    /^merging an object in json but data type is not struct, instead is: /,
    /^expected a .*, but received a /,
    /^expected slice or array type, but got: /,
    /^unexpected slice of slice$/,
    /^map: .*does not contain declared merge key: /s,
    /^cannot find merge key `/,
    /^cannot merge lists without merge key for /,
    /^list element types are not identical: /,
    /^invalid element type in merging list:/,
    /^invalid value for special key: /,
    /^merging lists cannot yet be specified in the patch$/,
    /^no elements in any of the given slices$/,
    /^value for key .* is not a map$/s,
    /^The order in patch list:\n/,
  ],
};

/** Checks a response in plain text: a failure other than 404 and 406 must be a Status. */
function checkText(answer: FuzzResponse): Finding[] {
  const isKnown = answer.status < 400 || answer.status === 404 || answer.status === 406;
  return isKnown ? [] : [broken("failure responses are a Status", shown(answer))];
}

function checkJson(request: FuzzRequest, answer: FuzzResponse): Finding[] {
  if (/watch/i.test(request.target) && answer.status === 200) return checkFrames(answer);
  const value = parsed(answer.text);
  if (value === undefined) return [broken("responses of type JSON are valid JSON", shown(answer))];
  return answer.status < 400 ? [] : checkStatus(value, answer);
}

function checkEncoded(answer: FuzzResponse, encoding: string): Finding[] {
  const value = bodyOf(answer);
  if (value instanceof Error)
    return [broken(`responses of type ${encoding} are valid ${encoding}`, `${value.message}\n${shown(answer)}`)];
  return answer.status < 400 ? [] : checkStatus(value, answer);
}

/** The decoded body, or the error if it cannot be decoded. */
function bodyOf({ contentType, text, bytes }: FuzzResponse): unknown {
  try {
    if (contentType.startsWith("application/yaml")) return parseYaml(text).value;
    if (contentType === PROTOBUF_MEDIA_TYPE) return decodeProtobufObject(bytes, protobufTables());
    return JSON.parse(text) as unknown;
  } catch (thrown) {
    return thrown;
  }
}

/**
 * Checks a body of JSON: one document, or one watch event per line. An ERROR event with code 500 or higher counts as a
 * server error.
 */
function checkFrames(answer: FuzzResponse): Finding[] {
  // A body that is one document may be pretty-printed over several lines.
  if (parsed(answer.text) !== undefined) return [];
  const lines = answer.text.split("\n").filter((line) => line !== "");
  return lines.flatMap((line) => {
    const event = parsed(line);
    if (event === undefined) return [broken("watch events are valid JSON", line.slice(0, SHOWN_CHARACTERS))];
    const object = isJsonObject(event) && event["type"] === "ERROR" ? event["object"] : undefined;
    const code = isJsonObject(object) ? object["code"] : undefined;
    return Number(code) >= 500 ? [broken("no server errors", line.slice(0, SHOWN_CHARACTERS))] : [];
  });
}

function checkStatus(value: unknown, answer: FuzzResponse): Finding[] {
  const problem = statusProblem(value, answer.status);
  return problem === undefined ? [] : [broken(`failure responses are a Status: ${problem}`, shown(answer))];
}

function statusProblem(value: unknown, code: number): string | undefined {
  if (!isJsonObject(value)) return "an object";
  if (value["kind"] !== "Status" || value["apiVersion"] !== "v1") return "kind is Status and apiVersion is v1";
  if (value["status"] !== "Failure") return "status is Failure";
  if (value["code"] !== code) return "code equals the HTTP status";
  if (typeof value["message"] !== "string" || value["message"] === "") return "message is not empty";
  if (!isJsonObject(value["metadata"])) return "metadata is an object";
  const { reason = code === 500 ? "InternalError" : "" } = value as { reason?: unknown };
  if (typeof reason !== "string" || reason === "" || !REASONS.has(reason)) return "reason is known";
  return isWellFormedDetails(value) ? undefined : "details are well formed";
}

function isWellFormedDetails({ details }: JsonObject): boolean {
  if (details === undefined) return true;
  if (!isJsonObject(details)) return false;
  const { causes = [] } = details as { causes?: unknown };
  return (
    Array.isArray(causes) &&
    causes.every((cause) => isJsonObject(cause) && Object.values(cause).every((member) => typeof member === "string"))
  );
}

export function broken(promise: string, what: string): Finding {
  return { invariant: promise, what };
}

export function shown({ status, contentType, text }: FuzzResponse): string {
  return `${status} ${contentType} ${text.slice(0, SHOWN_CHARACTERS)}`;
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
