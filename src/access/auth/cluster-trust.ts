/**
 * Computes the ConfigMap extension-apiserver-authentication, which holds the CAs and front proxy headers that all
 * servers of a cluster trust. Aggregated API servers read it. Pure.
 */
import { parseCertificates } from "./client-certificates.ts";
import type { RequestHeaderOptions } from "./request-header-options.ts";

export interface TrustParts {
  /** PEM of the CA that signs the certificates of users. */
  readonly clientCa: string | undefined;
  /** PEM of the CA that signs the certificates of front proxies. */
  readonly frontProxyCa: string | undefined;
  readonly requestHeader: RequestHeaderOptions | undefined;
}

type Data = Readonly<Record<string, string>>;

/**
 * Merges this server's CAs into the existing data. CAs of other servers are kept until they expire, because servers are
 * replaced one by one. Undefined if there is no CA.
 */
export function clusterTrust(existing: Data, parts: TrustParts, nowMs: number): Data | undefined {
  const clientCa = bundles([existing["client-ca-file"], parts.clientCa], nowMs);
  const frontProxyCa = bundles([existing["requestheader-client-ca-file"], parts.frontProxyCa], nowMs);
  if (clientCa === "" && frontProxyCa === "") return undefined;
  return {
    ...(clientCa === "" ? {} : { "client-ca-file": clientCa }),
    ...(frontProxyCa === ""
      ? {}
      : { ...headersData(existing, parts.requestHeader), "requestheader-client-ca-file": frontProxyCa }),
  };
}

function headersData(existing: Data, options: RequestHeaderOptions | undefined): Data {
  const { allowedNames = [], usernameHeaders = [], uidHeaders = [], groupHeaders = [] } = options ?? {};
  const prefixes = options?.extraHeadersPrefixes ?? [];
  const joined = (key: string, own: readonly string[]): Data => {
    const all = [...new Set([...stringsIn(existing[key]), ...own])];
    return key === "requestheader-uid-headers" && all.length === 0 ? {} : { [key]: JSON.stringify(all) };
  };
  return {
    ...joined("requestheader-allowed-names", allowedNames),
    ...joined("requestheader-username-headers", usernameHeaders.map(headerName)),
    ...joined("requestheader-uid-headers", uidHeaders.map(headerName)),
    ...joined("requestheader-group-headers", groupHeaders.map(headerName)),
    ...joined("requestheader-extra-headers-prefix", prefixes.map(headerName)),
  };
}

/** Canonical form of a header name, such as X-Remote-User. */
function headerName(lowerCase: string): string {
  return lowerCase.replaceAll(/(^|-)([a-z])/g, (_, before: string, letter: string) => before + letter.toUpperCase());
}

/** Ignores invalid data, because other clients can write the ConfigMap. */
function stringsIn(text: string | undefined): string[] {
  try {
    const value: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
  } catch {
    return [];
  }
}

function bundles(pems: readonly (string | undefined)[], nowMs: number): string {
  const known = new Map<string, string>();
  for (const certificate of pems.flatMap(certificatesIn))
    if (certificate.validToDate.getTime() > nowMs) known.set(certificate.fingerprint256, certificate.toString());
  return [...known.values()].join("");
}

function certificatesIn(pem: string | undefined): ReturnType<typeof parseCertificates> {
  if (pem === undefined || pem === "") return [];
  try {
    return parseCertificates(pem);
  } catch {
    return [];
  }
}
