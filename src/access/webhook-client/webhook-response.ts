/** Parses the HTTP response of a webhook, with the error messages of kubernetes' client. Pure. */
import { goQuote } from "../../meta/go-quote.ts";
import { isJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import { describeSyntaxError, JSON_DEPTH_MAX, measureJson, parseJsonText } from "../../objects/json/json-text.ts";
import { jsonKind } from "../../meta/go-fmt.ts";

export interface WebhookResponse {
  readonly status: number;
  /** "" if the response has no Content-Type header. */
  readonly contentType: string;
  readonly body: Buffer;
}

/** Maximum length of a response body that an error message quotes. */
const TEXT_BYTES_MAX = 2_048;

/** Returns the JSON object in the response, or an error message. */
export function parseWebhookResponse(response: WebhookResponse): JsonObject | string {
  const { status, body } = response;
  if (status < 200 || status > 206) return errorText(response);
  if (body.length === 0)
    return `0-length response with status code: ${status} and content type: ${response.contentType || "application/json"}`;
  const value = parse(body);
  if (typeof value === "string") return `couldn't get version/kind; json parse error: ${value}`;
  return value;
}

function parse(body: Buffer): JsonObject | string {
  if (measureJson(body).depth > JSON_DEPTH_MAX) return "exceeded max depth";
  let value: unknown;
  try {
    value = parseJsonText(body.toString("utf8"));
  } catch {
    return describeSyntaxError(body);
  }
  if (value === null) return {};
  if (isJsonObject(value)) return value;
  return `json: cannot unmarshal ${jsonKind(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`;
}

/** True for a Status, with which a webhook may describe its error. */
function isStatus({ kind, apiVersion }: JsonObject): boolean {
  return kind === "Status" && apiVersion === "v1";
}

function errorText({ status, contentType, body }: WebhookResponse): string {
  const value = parse(body);
  if (typeof value !== "string" && isStatus(value) && value["status"] === "Failure") return stringAt(value, "message");
  const text = isText(contentType) ? body.subarray(0, TEXT_BYTES_MAX).toString("utf8").trim() : "unknown";
  return STATUS_MESSAGES.get(status) ?? bodyErrorText(status, text);
}

const STATUS_MESSAGES: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [504, "the server was unable to return a response in the time allotted, but may still be processing the request"],
]);

function bodyErrorText(status: number, text: string): string {
  if (status === 403 || status === 415) return text;
  if (status === 406 && text !== "" && text !== "unknown") return text;
  if (status === 406) return "the server was unable to respond with a content type that the client supports";
  if (status >= 500) return `an error on the server (${goQuote(text)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${status} but did not return more information`;
}

/** As kubernetes: a missing content type counts as text. */
function isText(contentType: string): boolean {
  return contentType === "" || contentType.toLowerCase().startsWith("text/");
}
