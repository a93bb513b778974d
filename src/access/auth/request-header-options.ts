/** The `--requestheader-*` flags: who is a front proxy, and which headers it speaks in. */
import type { StripIdentityOptions } from "../../serving/http/filters/strip-identity.ts";
import {
  REMOTE_EXTRA_PREFIX,
  REMOTE_GROUP_HEADER,
  REMOTE_UID_HEADER,
  REMOTE_USER_HEADER,
} from "../../serving/http/proxy-headers.ts";
import { parseCertificates } from "./client-certificates.ts";

export interface RequestHeaderFlags {
  /** PEM of `--requestheader-client-ca-file`; without it nobody is a front proxy. */
  readonly clientCa: string | undefined;
  readonly allowedNames?: readonly string[] | undefined;
  readonly usernameHeaders?: readonly string[] | undefined;
  readonly uidHeaders?: readonly string[] | undefined;
  readonly groupHeaders?: readonly string[] | undefined;
  readonly extraHeadersPrefix?: readonly string[] | undefined;
  /** PEM of `--client-ca-file`, to refuse that every user could pass for a front proxy. */
  readonly userCa?: string | undefined;
}

/** Header names and prefixes are lower case. */
export interface RequestHeaderOptions {
  readonly clientCa: string;
  /** Common names; empty: every certificate of the CA. */
  readonly allowedNames: readonly string[];
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeadersPrefixes: readonly string[];
}

/** Undefined when there is no CA. Throws an Error with one clear sentence for flags that cannot be used. */
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
  if (allowedNames.length === 0 && userCa !== undefined) refuseCommonCertificate(clientCa, userCa);
  return { clientCa, allowedNames, usernameHeaders, uidHeaders, groupHeaders, extraHeadersPrefixes };
}

/** What must not reach anybody from an unknown caller, beside the conventional headers. */
export function spoofableHeaders(options: RequestHeaderOptions | undefined): StripIdentityOptions {
  if (options === undefined) return { headerNames: new Set(), headerPrefixes: [] };
  return {
    headerNames: new Set([...options.usernameHeaders, ...options.uidHeaders, ...options.groupHeaders]),
    headerPrefixes: options.extraHeadersPrefixes,
  };
}

/** What every request needs to be understood; taken for identity, these would be set aside. */
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
  if (needed !== undefined) throw new Error(`--${flag} must not name ${needed}, which means something else`);
  return names;
}

function prefixes(flag: string, values: readonly string[] = [REMOTE_EXTRA_PREFIX]): string[] {
  const starts = checkedNames(flag, values);
  for (const start of starts) {
    const needed = NEEDED_HEADERS.find((name) => name.startsWith(start));
    if (needed !== undefined) throw new Error(`--${flag} must not begin ${needed}, which means something else`);
  }
  return starts;
}

function checkedNames(flag: string, values: readonly string[]): string[] {
  return checkedValues(flag, values).map((value) => {
    const name = value.toLowerCase();
    if (!TOKEN.test(name))
      throw new Error(`--${flag} contains ${JSON.stringify(value)}, which no header can be called`);
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

/** Where front proxies are not known by name, too, every user could pass for one. */
export function refuseCommonCertificate(frontProxyCa: string, userCa: string): void {
  const fingerprints = new Set(parseCertificates(frontProxyCa).map(({ fingerprint256 }) => fingerprint256));
  if (parseCertificates(userCa).some(({ fingerprint256 }) => fingerprints.has(fingerprint256)))
    throw new Error(
      "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users",
    );
}
