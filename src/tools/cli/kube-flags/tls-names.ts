/** Translates the names of TLS versions, cipher suites and key exchange groups in kube-apiserver's flags to OpenSSL's. */
import { InvalidArgumentError } from "commander";
import { commaList } from "../flags.ts";

/** The suites of TLS 1.3. As in Go, they are always enabled; a flag that names them only excludes the others. */
const TLS13_SUITES: readonly string[] = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
];

/** OpenSSL's names of the suites of TLS 1.2, without those that it does not offer: RC4 and 3DES. */
const TLS12_SUITES: ReadonlyMap<string, string> = new Map([
  ...(["ECDSA", "RSA"] as const).flatMap((key) => [
    [`TLS_ECDHE_${key}_WITH_AES_128_CBC_SHA`, `ECDHE-${key}-AES128-SHA`] as const,
    [`TLS_ECDHE_${key}_WITH_AES_256_CBC_SHA`, `ECDHE-${key}-AES256-SHA`] as const,
    [`TLS_ECDHE_${key}_WITH_AES_128_CBC_SHA256`, `ECDHE-${key}-AES128-SHA256`] as const,
    [`TLS_ECDHE_${key}_WITH_AES_128_GCM_SHA256`, `ECDHE-${key}-AES128-GCM-SHA256`] as const,
    [`TLS_ECDHE_${key}_WITH_AES_256_GCM_SHA384`, `ECDHE-${key}-AES256-GCM-SHA384`] as const,
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305_SHA256`, `ECDHE-${key}-CHACHA20-POLY1305`] as const,
    [`TLS_ECDHE_${key}_WITH_CHACHA20_POLY1305`, `ECDHE-${key}-CHACHA20-POLY1305`] as const,
  ]),
  ["TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"],
  ["TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"],
  ["TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"],
  ["TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"],
  ["TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"],
]);

/** Go's CurveIDs. */
const CURVES: ReadonlyMap<string, string> = new Map([
  ["23", "P-256"],
  ["24", "P-384"],
  ["25", "P-521"],
  ["29", "X25519"],
  ["4587", "SecP256r1MLKEM768"],
  ["4588", "X25519MLKEM768"],
  ["4589", "SecP384r1MLKEM1024"],
]);

/** The server never speaks versions before 1.2. */
const VERSIONS: ReadonlyMap<string, "TLSv1.2" | "TLSv1.3"> = new Map([
  ["VersionTLS10", "TLSv1.2"],
  ["VersionTLS11", "TLSv1.2"],
  ["VersionTLS12", "TLSv1.2"],
  ["VersionTLS13", "TLSv1.3"],
]);

/** Parsers of flag values. The lists may be repeated. */
export function cipherSuites(text: string, before: readonly string[] | undefined): string[] {
  const names = commaList(text, before);
  for (const name of names)
    if (!TLS13_SUITES.includes(name) && !TLS12_SUITES.has(name))
      throw new InvalidArgumentError(`Cipher suite ${name} not supported or doesn't exist.`);
  return names;
}

export function curves(text: string, before: readonly string[] | undefined): string[] {
  const ids = commaList(text, before);
  for (const id of ids)
    if (!CURVES.has(id))
      throw new InvalidArgumentError(
        `Curve ${id} is not supported. Supported curves: ${[...CURVES].map(([known, name]) => `${known} (${name})`).join(", ")}.`,
      );
  return ids;
}

export function tlsVersion(text: string): "TLSv1.2" | "TLSv1.3" {
  const version = text === "" ? "TLSv1.2" : VERSIONS.get(text);
  if (version === undefined)
    throw new InvalidArgumentError(
      `${JSON.stringify(text)} is not one of the TLS versions ${[...VERSIONS.keys()].join(", ")}.`,
    );
  return version;
}

/** OpenSSL's names, separated by colons. */
export function opensslCiphers(names: readonly string[]): string {
  return [...TLS13_SUITES, ...names.flatMap((name) => TLS12_SUITES.get(name) ?? [])].join(":");
}

export function opensslCurves(ids: readonly string[]): string {
  return ids.flatMap((id) => CURVES.get(id) ?? []).join(":");
}
