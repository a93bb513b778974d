/** Where a list goes on: a revision and the first key of the next page, opaque to clients. */
import { describeSyntaxError } from "../../objects/json/json-text.ts";
import { isJsonObject } from "../../meta/json.ts";
import { badRequest, type StatusError } from "../../meta/status-error.ts";

const VERSION = "meta.k8s.io/v1";

export interface ContinueToken {
  /** -1: whatever is newest, because the list's own revision is gone. */
  readonly revision: number;
  /** Relative to the collection's prefix. */
  readonly start: string;
}

export function encodeContinueToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: VERSION, rv: token.revision, start: token.start })).toString("base64url");
}

export function decodeContinueToken(text: string): ContinueToken {
  const illegal = /[^A-Za-z0-9_-]/.exec(text);
  if (illegal !== null || text.length % 4 === 1) {
    throw invalidToken(`illegal base64 data at input byte ${illegal?.index ?? text.length - 1}`);
  }
  const bytes = Buffer.from(text, "base64url");
  let parsed: unknown;
  try {
    parsed = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw invalidToken(describeSyntaxError(bytes.toString("latin1")));
  }
  if (!isJsonObject(parsed) || parsed["v"] !== VERSION)
    throw invalidToken(
      `server does not recognize this encoded version ${JSON.stringify(isJsonObject(parsed) ? (parsed["v"] ?? "") : "")}`,
    );
  const { rv, start } = parsed;
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0 || rv < -1)
    throw invalidToken(`incorrect encoded start resourceVersion (version ${VERSION})`);
  if (typeof start !== "string" || start === "") throw invalidToken(`encoded start key empty (version ${VERSION})`);
  // A key that climbs out of its collection would show what the request was not allowed to see.
  if (start.startsWith("/") || start.split("/").includes("..") || start.length > 2_000)
    throw invalidToken(`the start key ${JSON.stringify(start.slice(0, 100))} is not valid`);
  return { revision: rv, start };
}

function invalidToken(why: string): StatusError {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
