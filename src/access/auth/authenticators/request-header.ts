/**
 * Authenticates users by the headers of a front proxy, which is verified by its client certificate. No other code
 * trusts the identity headers of a request.
 */
import type { Clock } from "../../../base/clock.ts";
import type { IdentityClaims } from "../../../serving/http/filters/strip-identity.ts";
import type { Authenticator } from "../authenticate.ts";
import { readSubject } from "../certificate-reader.ts";
import { createCertificateVerifier, rememberByChain, type CertificateVerifier } from "../client-certificates.ts";
import type { RequestHeaderOptions } from "../request-header-options.ts";
import type { User } from "../user.ts";

/**
 * `verify` checks the client certificate against the current CA bundle of `--requestheader-client-ca-file`, which may
 * be reloaded.
 */
export function requestHeaderAuthenticator(
  options: RequestHeaderOptions,
  clock: Pick<Clock, "now">,
  verify: CertificateVerifier = createCertificateVerifier(options.clientCa),
): Authenticator {
  const verifyProxy = frontProxyVerifier(options, verify);
  return ({ claims, connection: { clientChain } }) => {
    if (clientChain.length === 0) return "none";
    if (verifyProxy(clientChain, clock.now()) !== undefined) return "rejected";
    const user = claimedUser(claims, options);
    return typeof user === "string" ? user : { user, isVerifiedPeer: true };
  };
}

/** Verifies the certificate of a front proxy, and that its common name is one of the allowed names. */
export function frontProxyVerifier(
  { allowedNames }: Pick<RequestHeaderOptions, "allowedNames">,
  verify: CertificateVerifier,
): CertificateVerifier {
  const allowed = new Set(allowedNames);
  const nameProblemOf = rememberByChain(([leaf]) => {
    const name = leaf === undefined ? undefined : readSubject(leaf.raw)?.commonName;
    if (name !== undefined && (allowed.size === 0 || allowed.has(name))) return undefined;
    return `x509: subject with cn=${name ?? ""} is not in the allowed list`;
  });
  return (chain, now) => verify(chain, now) ?? nameProblemOf(chain);
}

/**
 * Rejects identity headers that are not UTF-8, because replacing the invalid bytes could turn a name into the name of
 * another user.
 */
function claimedUser(claims: IdentityClaims, options: RequestHeaderOptions): User | "none" | "rejected" {
  const name = firstValue(claims, options.usernameHeaders);
  if (name === "") return "none";
  const uid = firstValue(claims, options.uidHeaders);
  const groups = options.groupHeaders
    .flatMap((header) => claims.get(header) ?? [])
    .filter((group) => group !== "")
    .map(toText);
  const extra = claimedExtra(claims, options.extraHeadersPrefixes);
  const [nameText, uidText] = [toText(name), toText(uid)];
  if (nameText === undefined || uidText === undefined || extra === undefined) return "rejected";
  if (!groups.every((group) => group !== undefined)) return "rejected";
  return { name: nameText, uid: uidText, groups, extra };
}

function claimedExtra(claims: IdentityClaims, prefixes: readonly string[]): User["extra"] | undefined {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    for (const [header, lines] of claims) {
      if (!header.startsWith(prefix)) continue;
      const values = lines.map(toText);
      if (!values.every((value) => value !== undefined)) return undefined;
      const key = unescapeKey(header.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...values]);
    }
  }
  // `fromEntries` instead of assignments, because a key may be `__proto__`.
  return Object.fromEntries(extra);
}

/**
 * As kubernetes: only the first line of a repeated header counts. If that line is empty, the next header of the flag is
 * used.
 */
function firstValue(claims: IdentityClaims, headers: readonly string[]): string {
  for (const header of headers) {
    const value = claims.get(header)?.[0];
    if (value !== undefined && value !== "") return value;
  }
  return "";
}

/** As kubernetes: a key with invalid percent-encoding is used unchanged. */
function unescapeKey(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/** Header values are UTF-8 bytes, which Node presents as ISO 8859-1. */
function toText(value: string): string | undefined {
  if (/^[\0-\x7f]*$/.test(value)) return value;
  // Characters beyond ISO 8859-1 cannot come from a socket, so the value is text from the in-process client.
  if (/[^\0-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, "latin1");
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}
