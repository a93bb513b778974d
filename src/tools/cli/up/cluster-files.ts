/**
 * The files that a cluster keeps in its data directory beside its objects: certificates, tokens, kubeconfig, list of
 * servers.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../../serving/http/node/certificate-authority.ts";
import { ensureServiceAccountKey } from "../credential-flags.ts";
import { HOST } from "./hosted-server.ts";
import { CLUSTER_NAMES, clusterFolder, ensureTokenFile } from "../data-directory.ts";

export interface ClusterCredentials {
  readonly ca: KeyedCertificate;
  readonly caFile: string;
  /** The serving certificate of all servers, followed by its CA. */
  readonly serving: KeyedCertificate;
  readonly frontProxyCa: KeyedCertificate;
  readonly frontProxyCertFile: string;
  readonly frontProxyKeyFile: string;
  readonly admin: KeyedCertificate;
  readonly tokenFile: string;
  readonly token: string;
  /** The key with which all servers sign service account tokens. */
  readonly serviceAccountKey: ReturnType<typeof ensureServiceAccountKey>;
}

export const FRONT_PROXY_NAME = "front-proxy-client";
const PRIVATE = 0o600;
const DAY_MS = 86_400_000;
/** IP addresses in the serving certificate. The last one is the address of the Service `kubernetes`. */
const SERVER_ADDRESSES: readonly string[] = ["127.0.0.1", "::1", "10.0.0.1"];

/**
 * Returns the credentials of the directory. Missing, expired and invalid ones are replaced, and the serving certificate
 * also if it does not contain `host`, at which clients reach the load balancer.
 */
export function clusterCredentials(directory: string, host: string = HOST): ClusterCredentials {
  const nowMs = Date.now();
  const folder = clusterFolder(directory);
  const ca = kept(folder, "ca", { make: () => createAuthority({ commonName: "evenkeel-ca", nowMs }) });
  const frontProxyCa = kept(folder, "front-proxy-ca", {
    make: () => createAuthority({ commonName: "evenkeel-front-proxy-ca", nowMs }),
  });
  const addresses = [...new Set([...SERVER_ADDRESSES, host])];
  const hosts = [...CLUSTER_NAMES, hostname(), ...addresses];
  const serving = kept(folder, "serving", {
    issuer: ca,
    addresses,
    make: () =>
      withIssuer(ca, issueCertificate({ ca, commonName: "kube-apiserver", hosts, usage: "serverAuth", nowMs })),
  });
  const clientOf = (authority: KeyedCertificate, commonName: string, organizations: string[]) => ({
    issuer: authority,
    make: () => issueCertificate({ ca: authority, commonName, organizations, usage: "clientAuth", nowMs }),
  });
  kept(folder, "front-proxy-client", clientOf(frontProxyCa, FRONT_PROXY_NAME, []));
  const admin = kept(folder, "admin", clientOf(ca, "admin", ["system:masters"]));
  const { text, token } = ensureTokenFile(directory);
  return {
    ca,
    caFile: join(folder, "ca.crt"),
    serving,
    frontProxyCa,
    frontProxyCertFile: join(folder, "front-proxy-client.crt"),
    frontProxyKeyFile: join(folder, "front-proxy-client.key"),
    admin,
    tokenFile: text,
    token,
    serviceAccountKey: ensureServiceAccountKey(directory),
  };
}

interface Keeping {
  readonly make: () => KeyedCertificate;
  /** The CA that must have signed it; undefined for a self-signed certificate. */
  readonly issuer?: KeyedCertificate;
  readonly addresses?: readonly string[];
}

function kept(folder: string, name: string, keeping: Keeping): KeyedCertificate {
  const files = { cert: join(folder, `${name}.crt`), key: join(folder, `${name}.key`) };
  if (existsSync(files.cert) && existsSync(files.key)) {
    const found = { certPem: readFileSync(files.cert, "utf8"), keyPem: readFileSync(files.key, "utf8") };
    if (isUsable(found, keeping)) return found;
  }
  const made = keeping.make();
  writePrivate(files.key, made.keyPem);
  writeWhole(files.cert, made.certPem, 0o644);
  return made;
}

function isUsable({ certPem, keyPem }: KeyedCertificate, { issuer, addresses = [] }: Keeping): boolean {
  try {
    const certificate = new X509Certificate(certPem);
    const signer = issuer === undefined ? certificate : new X509Certificate(issuer.certPem);
    return (
      certificate.validToDate.getTime() - Date.now() > DAY_MS &&
      certificate.checkPrivateKey(createPrivateKey(keyPem)) &&
      certificate.verify(signer.publicKey) &&
      addresses.every((address) => certificate.checkIP(address) !== undefined)
    );
  } catch {
    // A certificate that cannot be parsed is replaced.
    return false;
  }
}

function withIssuer(ca: KeyedCertificate, leaf: KeyedCertificate): KeyedCertificate {
  return { certPem: leaf.certPem + ca.certPem, keyPem: leaf.keyPem };
}

interface KubeconfigTarget {
  readonly name: string;
  readonly url: string;
}

/**
 * Writes a kubeconfig with one context for each target. The first target, the load balancer, is the current context.
 */
export function writeClusterKubeconfig(
  directory: string,
  credentials: ClusterCredentials,
  targets: readonly KubeconfigTarget[],
): string {
  const file = join(directory, "kubeconfig");
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const ca = base64(credentials.ca.certPem);
  const { certPem, keyPem } = credentials.admin;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: targets.map(({ name, url }) => ({ name, cluster: { server: url, "certificate-authority-data": ca } })),
    users: [
      { name: "admin", user: { "client-certificate-data": base64(certPem), "client-key-data": base64(keyPem) } },
      { name: "admin-token", user: { token: credentials.token } },
    ],
    contexts: targets.map(({ name }) => ({ name, context: { cluster: name, user: "admin" } })),
    "current-context": targets[0]?.name ?? "",
  };
  // JSON is valid YAML, so kubectl reads it.
  writePrivate(file, `${JSON.stringify(config, undefined, 2)}\n`);
  return file;
}

/** The servers of a cluster, kept so that a restart starts the same ones. */
export interface ClusterState {
  /** The port of the load balancer. */
  readonly port: number;
  readonly nextNumber: number;
  readonly servers: readonly KeptServer[];
}

interface KeptServer {
  readonly id: string;
  readonly spec: string;
  readonly port: number;
}

const STATE_FILE = "cluster.json";

/** Undefined if the file is missing or invalid. */
export function readState(directory: string): ClusterState | undefined {
  try {
    const state = JSON.parse(readFileSync(join(directory, STATE_FILE), "utf8")) as Partial<ClusterState> | null;
    if (!isPort(state?.port) || !isSafeInteger(state?.nextNumber) || !Array.isArray(state?.servers)) return undefined;
    const servers = (state.servers as readonly (Partial<KeptServer> | null)[]).filter(
      (server) => /^[a-z0-9-]{1,63}$/.test(server?.id ?? "") && typeof server?.spec === "string" && isPort(server.port),
    );
    return { port: state.port, nextNumber: state.nextNumber, servers: servers as readonly KeptServer[] };
  } catch {
    // If the file is missing or invalid, the cluster counts as new.
    return undefined;
  }
}

export function writeState(directory: string, state: ClusterState): void {
  writePrivate(join(directory, STATE_FILE), `${JSON.stringify(state, undefined, 2)}\n`);
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65_535;
}

function writePrivate(file: string, text: string): void {
  writeWhole(file, text, PRIVATE);
}

/** Replaces the file atomically, so that a concurrent reader such as kubectl reads either the old or the new text. */
function writeWhole(file: string, text: string, mode: number): void {
  const fresh = `${file}.new`;
  writeFileSync(fresh, text, { mode });
  renameSync(fresh, file);
}

function isSafeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
