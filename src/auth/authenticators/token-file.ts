/** Static bearer tokens from a CSV file as kube-apiserver reads it: token,user,uid[,"group1,group2"]. */
import { hash } from "node:crypto";
import { headerValue, type ConnectionInfo } from "../../http/message.ts";
import { AUTHENTICATED, type User } from "../user.ts";
import type { Authenticated, Authenticator } from "../authenticate.ts";

/** Throws an Error with one clear sentence for a file that cannot be used. */
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
 * Tokens are looked up by digest, so that comparing takes the same time however much of a guess is right. A connection
 * mostly says the same in every request: what was right on it once is compared as it stands, which tells nobody anything
 * that has not said it before.
 */
export function tokenFileAuthenticator(users: ReadonlyMap<string, User>): Authenticator {
  const accepted = new WeakMap<ConnectionInfo, { readonly header: string; readonly answer: Authenticated }>();
  return ({ headers, connection }) => {
    const header = headerValue(headers, "authorization");
    const before = accepted.get(connection);
    if (header !== undefined && before?.header === header) return before.answer;
    const match = header === undefined ? null : /^bearer +(\S+)\s*$/i.exec(header);
    if (match === null) return "none";
    const user = users.get(digest(match[1]!));
    if (user === undefined) return "rejected";
    const answer: Authenticated = { user, isVerifiedPeer: false };
    accepted.set(connection, { header: match.input, answer });
    return answer;
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
    fields.push(match[1] === undefined ? match[2]!.trim() : match[1].replaceAll('""', '"'));
    if (match[3] === "") return fields;
  }
}
