/** Evaluates TokenReview, which returns the user of a token. */
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, StatusError } from "../../../meta/status-error.ts";
import type { ReviewedToken } from "./ports.ts";
import { userInfo } from "./user-info.ts";

export function rejectWithoutToken(object: JsonObject): void {
  if (stringAt(objectAt(object, "spec"), "token") === "")
    throw badRequest("token is required for TokenReview in authentication");
}

interface TokenQuestion {
  readonly token: string;
  readonly audiences: readonly string[];
}

/**
 * Returns the token without trailing blanks, and the audiences. DIFFERS: a token with leading or inner blanks is
 * invalid.
 */
export function tokenQuestion(object: JsonObject, apiAudiences: readonly string[]): TokenQuestion {
  const spec = objectAt(object, "spec");
  const audiences = stringsAt(spec, "audiences");
  return { token: stringAt(spec, "token").trimEnd(), audiences: audiences.length === 0 ? apiAudiences : audiences };
}

const UNKNOWN = "invalid bearer token";

/** As kubernetes: fields of the status that the client sent are kept if the review does not set them. */
export function tokenStatus(object: JsonObject, { audiences }: TokenQuestion, response: ReviewedToken): JsonObject {
  const { authenticated: _said, user = {}, ...given } = objectAt(object, "status");
  if (response === "unknown") return { ...given, user, error: UNKNOWN };
  if ("error" in response) return { ...given, user, error: `[${UNKNOWN}, ${response.error}]` };
  if (audiences.length > 0 && !response.audiences.some((one) => audiences.includes(one))) throw wrongAudiences();
  const meant = response.audiences.length === 0 ? {} : { audiences: response.audiences };
  return { ...given, authenticated: true, user: userInfo(response.user), ...meant };
}

function wrongAudiences(): StatusError {
  const message = "error validating audiences";
  return new StatusError("InternalError", `Internal error occurred: ${message}`, {
    details: { causes: [{ message }] },
  });
}
