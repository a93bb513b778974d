/**
 * Reads and writes the files that a command keeps in its data directory beside the objects: certificates, the first
 * user's token, a kubeconfig. `evenkeel serve` keeps its certificates in the directory itself, `evenkeel up` in a
 * separate folder, so that neither replaces the certificates of the other.
 */
import { randomBytes, X509Certificate } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { makeDirectory } from "../../base/make-directory.ts";
import { createServingCertificate } from "../../serving/http/node/serving-certificate.ts";

export interface ServingCredentials {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const PRIVATE = 0o600;
const DAY_MS = 86_400_000;
/** DNS names in the serving certificates of every cluster; peers verify each other by the third one. */
export const CLUSTER_NAMES: readonly string[] = [
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  "localhost",
];

/** The certificates of `evenkeel up`, each a .crt and a .key file. */
const CLUSTER_CERTIFICATES: readonly string[] = ["ca", "serving", "front-proxy-ca", "front-proxy-client", "admin"];

/**
 * Returns the folder with the certificates of `evenkeel up`, and creates it if it is missing. Earlier versions kept the
 * certificates in the data directory itself: they are copied, so that existing kubeconfigs stay valid.
 */
export function clusterFolder(directory: string): string {
  const folder = join(directory, "up");
  if (existsSync(folder)) return folder;
  const fresh = `${folder}.new`;
  // A process that was killed may have left this folder behind.
  rmSync(fresh, { recursive: true, force: true });
  makeDirectory(fresh);
  if (hasEarlierCluster(directory))
    for (const name of CLUSTER_CERTIFICATES.flatMap((certificate) => [`${certificate}.crt`, `${certificate}.key`]))
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(fresh, name));
  renameSync(fresh, folder);
  return folder;
}

/** True if an earlier `evenkeel up` wrote the CA: `evenkeel serve` does not keep the key of its CA. */
function hasEarlierCluster(directory: string): boolean {
  return existsSync(join(directory, "ca.key"));
}

/**
 * Returns the serving certificate of the directory. It is replaced if it is missing, invalid, about to expire or
 * without one of the addresses.
 */
export function servingCredentials(directory: string, addresses: readonly string[]): ServingCredentials {
  const files = {
    cert: join(directory, "serving.crt"),
    key: join(directory, "serving.key"),
    ca: join(directory, "ca.crt"),
  };
  const needed = reachableBy(addresses);
  if (Object.values(files).every((file) => existsSync(file))) {
    const kept = {
      cert: readFileSync(files.cert, "utf8"),
      key: readFileSync(files.key, "utf8"),
      ca: readFileSync(files.ca, "utf8"),
    };
    if (isUsable(kept.cert, needed)) return kept;
  }
  // Copies the certificates of an earlier `evenkeel up` first, because it used the same file names.
  if (hasEarlierCluster(directory)) clusterFolder(directory);
  const made = generated(needed);
  writePrivate(files.key, made.key);
  writeFileSync(files.cert, made.cert);
  writeFileSync(files.ca, made.ca);
  return made;
}

/** Generates a serving certificate and writes it, followed by its CA, to the files, whose directory may be missing. */
export function createKeyPairFiles(
  files: { readonly cert: string; readonly key: string },
  addresses: readonly string[],
): ServingCredentials {
  const made = generated(reachableBy(addresses));
  makeDirectory(dirname(files.key));
  writePrivate(files.key, made.key);
  writeFileSync(files.cert, made.cert);
  return made;
}

function reachableBy(addresses: readonly string[]): string[] {
  return [...new Set(["127.0.0.1", "::1", ...addresses.filter((address) => !isUnspecified(address))])];
}

function generated(addresses: readonly string[]): ServingCredentials {
  const { certPem, keyPem, caPem } = createServingCertificate({
    hosts: [...CLUSTER_NAMES, hostname(), ...addresses],
    nowMs: Date.now(),
    commonName: hostname(),
  });
  return { cert: certPem, key: keyPem, ca: caPem };
}

function isUsable(pem: string, addresses: readonly string[]): boolean {
  try {
    const certificate = new X509Certificate(pem);
    const isFresh = certificate.validToDate.getTime() - Date.now() > DAY_MS;
    return isFresh && addresses.every((address) => certificate.checkIP(address) !== undefined);
  } catch {
    return false;
  }
}

function isUnspecified(address: string): boolean {
  return address === "0.0.0.0" || address === "::";
}

/** Returns the token file, and creates it with one administrator on the first start. */
export function ensureTokenFile(directory: string): { readonly text: string; readonly token: string } {
  const file = join(directory, "tokens.csv");
  if (!existsSync(file)) writePrivate(file, `${randomBytes(24).toString("base64url")},admin,admin,"system:masters"\n`);
  const text = readFileSync(file, "utf8");
  return { text, token: firstToken(text) };
}

/** Returns the first user's token, for a kubeconfig; empty if the file has no user. */
export function firstToken(text: string): string {
  const line = text.split(/\r?\n/).find((candidate) => candidate.trim() !== "" && !candidate.startsWith("#")) ?? "";
  const [, quoted, bare = ""] = /^\s*(?:"((?:[^"]|"")*)"|([^",]*))/.exec(line) ?? [];
  return quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"');
}

export function writeKubeconfig(
  directory: string,
  options: { readonly server: string; readonly ca: string; readonly token: string },
): string {
  const file = join(directory, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "evenkeel",
        cluster: { server: options.server, "certificate-authority-data": Buffer.from(options.ca).toString("base64") },
      },
    ],
    users: [{ name: "admin", user: { token: options.token } }],
    contexts: [{ name: "evenkeel", context: { cluster: "evenkeel", user: "admin" } }],
    "current-context": "evenkeel",
  };
  // JSON is valid YAML, so kubectl reads it.
  writePrivate(file, `${JSON.stringify(config, undefined, 2)}\n`);
  return file;
}

function writePrivate(file: string, text: string): void {
  writeFileSync(file, text, { mode: PRIVATE });
  chmodSync(file, PRIVATE);
}
