/**
 * Validates the `--requestheader-*` flags, which define how front proxies are verified and in which headers they name
 * the user.
 */
import type { StripIdentityOptions } from "../../serving/http/filters/strip-identity.ts";
import {
  REMOTE_EXTRA_PREFIX,
  REMOTE_GROUP_HEADER,
  REMOTE_UID_HEADER,
  REMOTE_USER_HEADER,
} from "../../serving/http/proxy-headers.ts";
import { parseCertificates } from "./client-certificates.ts";

export interface RequestHeaderFlags {
  /** PEM of `--requestheader-client-ca-file`. If undefined, there are no front proxies. */
  readonly clientCa: string | undefined;
  readonly allowedNames?: readonly string[] | undefined;
  readonly usernameHeaders?: readonly string[] | undefined;
  readonly uidHeaders?: readonly string[] | undefined;
  readonly groupHeaders?: readonly string[] | undefined;
  readonly extraHeadersPrefix?: readonly string[] | undefined;
  /**
   * PEM of `--client-ca-file`. Unless `allowedNames` is set, it must not overlap with `clientCa`, because then every
   * user could act as a front proxy.
   */
  readonly userCa?: string | undefined;
}

/** The validated flags. Header names and prefixes are lower case. */
export interface RequestHeaderOptions {
  readonly clientCa: string;
  /** Allowed common names; empty if all certificates of the CA are allowed. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeadersPrefixes: readonly string[];
}

/** Undefined if there is no front proxy CA. Throws an Error with a one-sentence message if the flags are invalid. */
export function requestHeaderOptions(flags: RequestHeaderFlags): RequestHeaderOptions | undefined {
  const allowedNames = checkedValues("requestheader-allowed-names", flags.allowedNames ?? []);
  const usernameHeaders = headers("requestheader-username-headers", flags.usernameHeaders ?? [REMOTE_USER_HEADER]);
  const uidHeaders = headers("requestheader-uid-headers", flags.uidHeaders ?? [REMOTE_UID_HEADER]);
  const groupHeaders = headers("requestheader-group-headers", flags.groupHeaders ?? [REMOTE_GROUP_HEADER]);
  const extraHeadersPrefixes = prefixes("requestheader-extra-headers-prefix", flags.extraHeadersPrefix);
  if (uidHeaders.length > 0 && !uidHeaders.includes(REMOTE_UID_HEADER.toLowerCase()))
    throw new Error(
      `--requestheader-uid-headers is set without specifying the standard ${REMOTE_UID_HEADER} header - API aggregation will not work`,
    );
  const { clientCa, userCa } = flags;
  if (clientCa === undefined) return undefined;
  if (usernameHeaders.length === 0)
    throw new Error("--requestheader-username-headers must name a header when --requestheader-client-ca-file is given");
  if (allowedNames.length === 0 && userCa !== undefined) rejectCommonCertificate(clientCa, userCa);
  return { clientCa, allowedNames, usernameHeaders, uidHeaders, groupHeaders, extraHeadersPrefixes };
}

/**
 * The configured identity headers, which are removed from every request in addition to the standard ones, so that only
 * the request-header authenticator reads them.
 */
export function spoofableHeaders(options: RequestHeaderOptions | undefined): StripIdentityOptions {
  if (options === undefined) return { headerNames: new Set(), headerPrefixes: [] };
  return {
    headerNames: new Set([...options.usernameHeaders, ...options.uidHeaders, ...options.groupHeaders]),
    headerPrefixes: options.extraHeadersPrefixes,
  };
}

/**
 * Headers with another purpose. They cannot be identity headers, because identity headers are removed from requests.
 */
const NEEDED_HEADERS: readonly string[] = [
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "transfer-encoding",
  "upgrade",
  "user-agent",
];

const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

function headers(flag: string, values: readonly string[]): string[] {
  const names = checkedNames(flag, values);
  const needed = names.find((name) => NEEDED_HEADERS.includes(name));
  if (needed !== undefined) throw new Error(`--${flag} must not contain ${needed}, which has another meaning`);
  return names;
}

function prefixes(flag: string, values: readonly string[] = [REMOTE_EXTRA_PREFIX]): string[] {
  const starts = checkedNames(flag, values);
  for (const start of starts) {
    const needed = NEEDED_HEADERS.find((name) => name.startsWith(start));
    if (needed !== undefined) throw new Error(`--${flag} must not be a prefix of ${needed}, which has another meaning`);
  }
  return starts;
}

function checkedNames(flag: string, values: readonly string[]): string[] {
  return checkedValues(flag, values).map((value) => {
    const name = value.toLowerCase();
    if (!TOKEN.test(name))
      throw new Error(`--${flag} contains ${JSON.stringify(value)}, which is not a valid header name`);
    return name;
  });
}

function checkedValues(flag: string, values: readonly string[]): string[] {
  return values.map((value) => {
    const trimmed = value.trim();
    if (trimmed === "") throw new Error(`empty value in ${JSON.stringify(flag)}`);
    return trimmed;
  });
}

/** Rejects CA bundles that share a certificate, because without allowed names every user could act as a front proxy. */
export function rejectCommonCertificate(frontProxyCa: string, userCa: string): void {
  const fingerprints = new Set(parseCertificates(frontProxyCa).map(({ fingerprint256 }) => fingerprint256));
  if (parseCertificates(userCa).some(({ fingerprint256 }) => fingerprints.has(fingerprint256)))
    throw new Error(
      "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users",
    );
}
