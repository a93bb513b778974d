/**
 * Parses the file of `--egress-selector-config-file`, as far as it concerns connections to the peers of this server.
 */

/** How peers are reached. File names are those in the configuration; the dialer reads the files. */
export type EgressConnection =
  | { readonly kind: "direct" }
  | { readonly kind: "connect-over-tcp"; readonly host: string; readonly port: number; readonly tls?: EgressTlsFiles }
  | { readonly kind: "connect-over-unix-socket"; readonly path: string };

export interface EgressTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

type EgressConfig =
  | {
      readonly isValid: true;
      readonly connection: EgressConnection;
      /** The selections with a proxy that this server does not use. */
      readonly unused: readonly string[];
    }
  /** The problems of an invalid file, as messages for the operator. */
  | { readonly isValid: false; readonly problems: readonly string[] };

const API_VERSION = "apiserver.k8s.io/v1beta1";
const KIND = "EgressSelectorConfiguration";

/** The names of egress selections. `peer` is specific to Evenkeel; the others are those of Kubernetes. */
const CONTEXTS: readonly string[] = ["peer", "controlplane", "cluster", "etcd"];
const PROTOCOLS: readonly string[] = ["Direct", "HTTPConnect", "GRPC"];

type Fields = Readonly<Record<string, unknown>>;

/**
 * Parses the decoded file. Peers are reached through the selection `peer`, otherwise through `controlplane`, otherwise
 * directly.
 */
export function parseEgressConfig(value: unknown): EgressConfig {
  const problems: string[] = [];
  const connections = new Map<string, EgressConnection | "grpc">();
  if (!isFields(value)) return { isValid: false, problems: [`The file must contain one ${KIND}.`] };
  if (value.apiVersion !== API_VERSION) problems.push(`apiVersion must be ${API_VERSION}.`);
  if (value.kind !== KIND) problems.push(`kind must be ${KIND}.`);
  const selections = value.egressSelections ?? [];
  if (!Array.isArray(selections)) problems.push("egressSelections must be a list.");
  else readSelections(selections, connections, problems);
  const name = connections.has("peer") ? "peer" : "controlplane";
  const connection = connections.get(name) ?? { kind: "direct" };
  if (connection === "grpc") {
    problems.push(`The egress selection ${name} uses GRPC, which is not supported; use HTTPConnect or Direct.`);
  }
  if (problems.length > 0 || connection === "grpc") return { isValid: false, problems };
  const isUnused = (other: string, by: EgressConnection | "grpc"): boolean =>
    other !== name && (by === "grpc" || by.kind !== "direct");
  return { isValid: true, connection, unused: [...connections].flatMap(([of, by]) => (isUnused(of, by) ? [of] : [])) };
}

function readSelections(
  selections: readonly unknown[],
  connections: Map<string, EgressConnection | "grpc">,
  problems: string[],
): void {
  for (const [index, selection] of selections.entries()) {
    const at = `egressSelections[${index}]`;
    const name = isFields(selection) && typeof selection.name === "string" ? selection.name.toLowerCase() : undefined;
    if (!isFields(selection) || name === undefined || !CONTEXTS.includes(name)) {
      problems.push(`${at}.name must be one of ${CONTEXTS.join(", ")}.`);
    } else if (connections.has(name)) {
      problems.push(`${at}.name is ${name}, which an earlier selection already has.`);
    } else {
      const connection = readConnection(selection.connection, `${at}.connection`);
      if (typeof connection === "string" && connection !== "grpc") problems.push(connection);
      else connections.set(name, connection);
    }
  }
}

/** Returns the connection, "grpc", or a message about a problem. */
function readConnection(value: unknown, at: string): EgressConnection | string {
  if (!isFields(value)) return `${at} is required.`;
  const { proxyProtocol, transport } = value;
  if (typeof proxyProtocol !== "string" || !PROTOCOLS.includes(proxyProtocol)) {
    return `${at}.proxyProtocol must be one of ${PROTOCOLS.join(", ")}.`;
  }
  const isTransportAbsent = transport === undefined || transport === null;
  if (proxyProtocol === "Direct") {
    return isTransportAbsent ? { kind: "direct" } : `${at}.transport must be absent when proxyProtocol is Direct.`;
  }
  if (proxyProtocol === "GRPC") return "grpc";
  if (!isFields(transport)) return `${at}.transport is required when proxyProtocol is HTTPConnect.`;
  const tcp = transport.tcp ?? undefined;
  const uds = transport.uds ?? undefined;
  if ((tcp === undefined) === (uds === undefined)) return `${at}.transport must have either tcp or uds.`;
  return tcp === undefined ? readUnix(uds, `${at}.transport.uds`) : readTcp(tcp, `${at}.transport.tcp`);
}

function readUnix(value: unknown, at: string): EgressConnection | string {
  const path = isFields(value) ? value.udsName : undefined;
  if (typeof path !== "string" || !path.startsWith("/")) return `${at}.udsName must be an absolute path.`;
  return { kind: "connect-over-unix-socket", path };
}

function readTcp(value: unknown, at: string): EgressConnection | string {
  const fields = isFields(value) ? value : {};
  const url = typeof fields.url === "string" ? URL.parse(fields.url) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.hostname === "") {
    return `${at}.url must be an http or https URL.`;
  }
  if (!isOnlyAddress(url)) return `${at}.url must name a host and a port and nothing else.`;
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const tlsConfig = fields.tlsConfig ?? undefined;
  if (url.protocol === "http:") {
    if (tlsConfig !== undefined) return `${at}.tlsConfig must be absent when the url is http.`;
    return { kind: "connect-over-tcp", host, port };
  }
  if (!isFields(tlsConfig)) return `${at}.tlsConfig is required when the url is https.`;
  const tls = readTlsFiles(tlsConfig, `${at}.tlsConfig`);
  return typeof tls === "string" ? tls : { kind: "connect-over-tcp", host, port, tls };
}

function isOnlyAddress({ username, password, search, hash, pathname }: URL): boolean {
  return [username, password, search, hash].every((part) => part === "") && pathname === "/";
}

function readTlsFiles({ caBundle, clientCert, clientKey }: Fields, at: string): EgressTlsFiles | string {
  for (const file of [caBundle, clientCert, clientKey]) {
    if (file !== undefined && file !== null && typeof file !== "string") return `${at} must contain file names.`;
  }
  const [caFile, certFile, keyFile] = [caBundle, clientCert, clientKey].map(fileName);
  if ((certFile === undefined) !== (keyFile === undefined)) {
    return `${at} must have both clientCert and clientKey, or neither.`;
  }
  return {
    ...(caFile === undefined ? {} : { caFile }),
    ...(certFile === undefined ? {} : { certFile }),
    ...(keyFile === undefined ? {} : { keyFile }),
  };
}

function fileName(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
