/**
 * Encodes and decodes the continue tokens of lists: a revision and the first key of the next page, opaque to clients.
 */
import { describeSyntaxError } from "../../objects/json/json-text.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { badRequest, type StatusError } from "../../meta/status-error.ts";

const VERSION = "meta.k8s.io/v1";

interface ContinueToken {
  /** The revision of the list; -1 for the newest revision, if the revision of the list was compacted. */
  readonly revision: number;
  /** The first key of the next page, relative to the prefix of the list. */
  readonly start: string;
  /** When the token was issued, in ms of wall-clock time; undefined in the tokens of a kube-apiserver. */
  readonly issuedAtMs: number | undefined;
}

export function encodeContinueToken(token: ContinueToken): string {
  return Buffer.from(
    JSON.stringify({ v: VERSION, rv: token.revision, start: token.start, at: token.issuedAtMs }),
  ).toString("base64url");
}

export function decodeContinueToken(text: string): ContinueToken {
  const { v: version, rv, start, at } = decodedMembers(text);
  if (version !== VERSION)
    throw invalidToken(`server does not recognize this encoded version ${JSON.stringify(version ?? "")}`);
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0 || rv < -1)
    throw invalidToken(`incorrect encoded start resourceVersion (version ${VERSION})`);
  if (typeof start !== "string" || start === "") throw invalidToken(`encoded start key empty (version ${VERSION})`);
  // A key outside of the prefix would expose objects that the request is not authorized to read.
  if (start.startsWith("/") || start.split("/").includes("..") || start.length > 2_000)
    throw invalidToken(`the start key ${JSON.stringify(start.slice(0, 100))} is not valid`);
  return { revision: rv, start, issuedAtMs: typeof at === "number" ? at : undefined };
}

/** Returns an empty object if the token contains JSON that is not an object. */
function decodedMembers(text: string): JsonObject {
  const illegal = /[^A-Za-z0-9_-]/.exec(text);
  if (illegal !== null || text.length % 4 === 1) {
    throw invalidToken(`illegal base64 data at input byte ${illegal?.index ?? text.length - 1}`);
  }
  const bytes = Buffer.from(text, "base64url");
  try {
    const parsed: unknown = JSON.parse(bytes.toString("utf8"));
    return isJsonObject(parsed) ? parsed : {};
  } catch {
    throw invalidToken(describeSyntaxError(bytes.toString("latin1")));
  }
}

function invalidToken(why: string): StatusError {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
