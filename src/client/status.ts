/** Answers that say no become StatusErrors, whoever gave them: an API server, a proxy before it, or nobody one knows. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../meta/json.ts";
import { HTTP_CODE, StatusError, type Reason, type StatusDetails } from "../meta/status-error.ts";

interface FailedAnswer {
  readonly method: string;
  readonly status: number;
  readonly text: string;
  readonly retryAfterSeconds?: number | undefined;
}

/** Enough of a foreign answer to recognise who gave it. */
const EXCERPT_CHARACTERS = 2_048;

export function answerError(answer: FailedAnswer): StatusError {
  const status = parseStatus(answer.text);
  if (status !== undefined) return statusError(status, answer.status);
  const { method, status: code, retryAfterSeconds } = answer;
  const excerpt = answer.text.slice(0, EXCERPT_CHARACTERS);
  const message = `the server answered with ${code} and without a Status${excerpt === "" ? "" : `: ${excerpt}`}`;
  return new StatusError(reasonForCode(code, method), message, {
    details: {
      causes: [{ reason: "UnexpectedServerResponse", message: excerpt }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}

/** From a Status as it came over the wire; `code` stands in where it has none. */
export function statusError(status: JsonObject, code: number): StatusError {
  const said = typeof status["code"] === "number" ? status["code"] : code;
  const reason = stringAt(status, "reason");
  const details = status["details"];
  const continueToken = stringAt(objectAt(status, "metadata"), "continue");
  return new StatusError(isReasonName(reason) ? reason : reasonForCode(said, ""), stringAt(status, "message"), {
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

/** Members of the wrong type are left out, so that whoever looks at an error need not look twice. */
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

/** The state asked for is no longer known: only a new list helps. */
export function isExpired(thrown: unknown): boolean {
  return thrown instanceof StatusError && thrown.code === HTTP_CODE.Expired;
}

/** As kubernetes: the server has not come as far as the version asked for; it may never, after a restored backup. */
export function isVersionTooLarge(thrown: unknown): boolean {
  if (!(thrown instanceof StatusError)) return false;
  if (thrown.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") === true) return true;
  return thrown.reason === "Timeout" && thrown.message.includes("Too large resource version");
}
