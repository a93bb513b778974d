/** Authenticates static bearer tokens from a CSV file in kube-apiserver's format: token,user,uid[,"group1,group2"]. */
import { hash } from "node:crypto";
import { AUTHENTICATED, type User } from "../user.ts";
import type { TokenAuthenticator } from "../tokens.ts";

/**
 * Returns the users by the digest of their token. Throws an Error with a one-sentence message if the file is invalid.
 */
export function parseTokenFile(text: string): ReadonlyMap<string, User> {
  const users = new Map<string, User>();
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === "" || line.startsWith("#")) return;
    const fields = parseCsvLine(line);
    if (fields === undefined) throw new Error(`line ${index + 1} of the token file is not valid CSV`);
    const [token = "", name = "", uid = "", groups = ""] = fields;
    if (fields.length < 3)
      throw new Error(
        `line ${index + 1} of the token file must have at least 3 columns (token, user name, user uid), found ${fields.length}`,
      );
    if (token === "") throw new Error(`line ${index + 1} of the token file has an empty token`);
    const listed = groups.split(",").filter((group) => group !== "");
    users.set(digest(token), { name, uid, groups: [...listed, AUTHENTICATED], extra: {} });
  });
  return users;
}

/**
 * Looks tokens up by digest, so that the duration of a lookup does not reveal how much of a guessed token is correct.
 * Static tokens are valid only for the API audiences.
 */
export function staticTokens(users: ReadonlyMap<string, User>, apiAudiences: readonly string[]): TokenAuthenticator {
  const own = new Set(apiAudiences);
  return (token, audiences) => {
    const meant = audiences.filter((audience) => own.has(audience));
    if (audiences.length > 0 && meant.length === 0) return "unknown";
    const user = users.get(digest(token));
    return user === undefined ? "unknown" : { user, audiences: meant };
  };
}

function digest(token: string): string {
  return hash("sha256", token, "base64");
}

function parseCsvLine(line: string): string[] | undefined {
  const fields: string[] = [];
  const field = /\s*(?:"((?:[^"]|"")*)"|([^",]*))\s*(,|$)/y;
  for (;;) {
    const match = field.exec(line);
    if (match === null) return undefined;
    const [, quoted, plain = "", end] = match;
    fields.push(quoted === undefined ? plain.trim() : quoted.replaceAll('""', '"'));
    if (end === "") return fields;
  }
}
