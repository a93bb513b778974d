/**
 * Converts error responses into StatusErrors, whether an API server, a proxy in front of it or another server sent
 * them.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../meta/json.ts";
import { HTTP_CODE, StatusError, type Reason, type StatusDetails } from "../meta/status-error.ts";

interface FailedResponse {
  readonly method: string;
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Length of the excerpt from a response without a Status: enough to recognize the server or proxy that sent it. */
const EXCERPT_CHARACTERS = 2_048;

export function responseError(response: FailedResponse): StatusError {
  const status = parseStatus(response.text);
  if (status !== undefined) return statusError(status, response.status);
  const { method, status: code, retryAfterSeconds } = response;
  const excerpt = response.text.slice(0, EXCERPT_CHARACTERS);
  const message = `the server responded with ${code} and without a Status${excerpt === "" ? "" : `: ${excerpt}`}`;
  return new StatusError(reasonForCode(code, method), message, {
    details: {
      causes: [{ reason: "UnexpectedServerResponse", message: excerpt }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}

/** Converts a received Status; `code` is used if the Status has no code. */
export function statusError(status: JsonObject, code: number): StatusError {
  const statusCode = typeof status["code"] === "number" ? status["code"] : code;
  const reason = stringAt(status, "reason");
  const details = status["details"];
  const continueToken = stringAt(objectAt(status, "metadata"), "continue");
  return new StatusError(isReasonName(reason) ? reason : reasonForCode(statusCode, ""), stringAt(status, "message"), {
    ...(isJsonObject(details) ? { details: checkedDetails(details) } : {}),
    ...(continueToken === "" ? {} : { continueToken }),
  });
}

function parseStatus(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) && parsed["kind"] === "Status" ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Omits fields that have a wrong type, so that callers need not check them. */
function checkedDetails(details: JsonObject): StatusDetails {
  const { causes, retryAfterSeconds } = details;
  const texts = ["name", "group", "kind", "uid"].filter((member) => typeof details[member] === "string");
  return {
    ...Object.fromEntries(texts.map((member) => [member, details[member]])),
    ...(Array.isArray(causes) ? { causes: causes.filter(isJsonObject) } : {}),
    ...(typeof retryAfterSeconds === "number" ? { retryAfterSeconds } : {}),
  };
}

function isReasonName(text: string): text is Reason {
  return text !== "" && Object.hasOwn(HTTP_CODE, text);
}

function reasonForCode(code: number, method: string): Reason {
  if (code === 409) return method === "POST" ? "AlreadyExists" : "Conflict";
  const named = (Object.keys(HTTP_CODE) as Reason[]).find((reason) => HTTP_CODE[reason] === code);
  if (named !== undefined) return named;
  return code >= 500 || code < 400 ? "InternalError" : "BadRequest";
}

/** Whether the requested resourceVersion has expired, so that a new list is needed. */
export function isExpired(thrown: unknown): boolean {
  return thrown instanceof StatusError && thrown.code === HTTP_CODE.Expired;
}

/**
 * Whether the server has not reached the requested resourceVersion yet, as kubernetes reports it. After a backup was
 * restored, it may never reach it.
 */
export function isVersionTooLarge(thrown: unknown): boolean {
  if (!(thrown instanceof StatusError)) return false;
  if (thrown.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") === true) return true;
  return thrown.reason === "Timeout" && thrown.message.includes("Too large resource version");
}
