/**
 * Starts servers as an operator would, creates a tenant with permissions in one namespace, and provides the functions
 * that send the attacks.
 */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { issueCa, issueClient, type Issued } from "../testing/access/auth/certificates.ts";
import type { ServerOptions } from "../../src/server/config.ts";
import type { PeerResponse, Json } from "../peers/client.ts";
import { TestCluster, type Member, type RoutingSource } from "../peers/cluster.ts";
import { PROXY_NAME } from "../peers/credentials.ts";

export const TENANT_TOKEN = "tenant-token";
/** The tenant's namespace, and a namespace that it may not access. */
export const OWN = "own";
export const OTHER = "other";
export const SECRET = `/api/v1/namespaces/${OTHER}/secrets/treasure`;
/** Secret content that no attack may reveal, in base64. */
export const SECRET_CONTENT = "Z29sZA==";
export const RBAC = "/apis/rbac.authorization.k8s.io/v1";
export const AUDIENCE = "https://kubernetes.default.svc.cluster.local";

const TOKENS = [
  `admin-token,admin,admin-uid,"system:masters"`,
  `jane-token,jane,u-1`,
  `${TENANT_TOKEN},tenant,tenant-uid,"tenants"`,
].join("\n");

export interface Authorities {
  readonly users: Issued;
  /** A CA that the servers trust for front proxies, besides the CA of the servers' own proxy certificates. */
  readonly frontProxies: Issued;
  readonly strangers: Issued;
  readonly tokens: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
}

const DAY_MS = 86_400_000;
export const VALID_NOW = { notBefore: Date.now() - DAY_MS, notAfter: Date.now() + DAY_MS } as const;

export function createAuthorities(): Authorities {
  return {
    users: issueCa("users-ca", VALID_NOW),
    frontProxies: issueCa("other-front-proxy-ca", VALID_NOW),
    strangers: issueCa("users-ca", VALID_NOW),
    tokens: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  };
}

/** The options that `evenkeel serve` would read from the files of its flags. */
export function serverOptions(cluster: TestCluster, authorities: Authorities): Partial<ServerOptions> {
  const pem = authorities.tokens.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return {
    access: {},
    tokenFile: TOKENS,
    clientCa: authorities.users.pem,
    requestHeader: {
      clientCa: `${cluster.credentials.proxyCa}\n${authorities.frontProxies.pem}`,
      allowedNames: [PROXY_NAME],
    },
    serviceAccounts: { signingKey: { file: "sa.key", pem }, issuers: [AUDIENCE] },
  };
}

export interface Site extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly authorities: Authorities;
  /** This server does not serve batch/v1, but `second` does. */
  readonly first: Member;
  readonly second: Member;
}

export async function startSite(more: Partial<ServerOptions> = {}, source?: RoutingSource): Promise<Site> {
  const cluster = new TestCluster(source);
  const authorities = createAuthorities();
  const options = { ...serverOptions(cluster, authorities), ...more };
  const first = await cluster.start({ options, runtimeConfig: "batch/v1=false" });
  const second = await cluster.start({ options });
  await Promise.all([first.knows("b"), second.knows("a")]);
  await furnish(first);
  return { cluster, authorities, first, second, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

/**
 * Lets the tenant manage the most common objects of its namespace, including roles, gives it all permissions for
 * widgets, and creates a Secret in another namespace.
 */
export async function furnish(server: Member): Promise<void> {
  for (const name of [OWN, OTHER]) await createAsAdmin(server, "/api/v1/namespaces", { metadata: { name } });
  await createAsAdmin(server, `/api/v1/namespaces/${OTHER}/secrets`, {
    metadata: { name: "treasure" },
    data: { it: SECRET_CONTENT },
  });
  await createAsAdmin(server, `${RBAC}/namespaces/${OWN}/roles`, {
    metadata: { name: "tenant-admin" },
    rules: OWN_RULES,
  });
  await createAsAdmin(
    server,
    `${RBAC}/namespaces/${OWN}/rolebindings`,
    bindingOf("tenant-admin", "Role", "tenant-admin"),
  );
  await grantTenant(server, "tenant-widgets", [rule("extra.example.com", ["widgets", "widgets/attach"], ["*"])]);
}

const EVERY_VERB = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const OWN_RULES: readonly Json[] = [
  rule("", ["configmaps", "secrets", "pods", "serviceaccounts"], EVERY_VERB),
  rule("batch", ["jobs"], EVERY_VERB),
  rule("coordination.k8s.io", ["leases"], EVERY_VERB),
  rule("rbac.authorization.k8s.io", ["roles", "rolebindings"], EVERY_VERB),
];

/** Grants the tenant cluster-wide permissions. */
export async function grantTenant(server: Member, name: string, rules: readonly Json[]): Promise<void> {
  await createAsAdmin(server, `${RBAC}/clusterroles`, { metadata: { name }, rules });
  await createAsAdmin(server, `${RBAC}/clusterrolebindings`, bindingOf(name, "ClusterRole", name));
}

export function rule(group: string, resources: readonly string[], verbs: readonly string[]): Json {
  return { apiGroups: [group], resources, verbs };
}

export const bindingOf = (name: string, kind: string, role: string): Json => ({
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: role },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "tenant" }],
});

/** Creates an object as administrator. Throws an error if the creation fails. */
export async function createAsAdmin(server: Member, path: string, body: Json): Promise<Json> {
  const response = await server.create(path, body);
  if (response.status !== 201) throw new Error(`${path} was not created: ${response.text}`);
  return response.body;
}

export interface TenantCall {
  readonly method?: string;
  readonly body?: Json;
  readonly headers?: Record<string, string | readonly string[]>;
}

export function asTenant(server: Member, path: string, call: TenantCall = {}): Promise<PeerResponse> {
  return server.call(path, { ...call, token: TENANT_TOKEN });
}

export function patchOf(type: "json" | "merge" | "strategic-merge", body: Json): TenantCall {
  return {
    method: "PATCH",
    headers: { "content-type": `application/${type}-patch+json` },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
}

export function applyOf(body: Json): TenantCall {
  return { method: "PATCH", headers: { "content-type": "application/apply-patch+yaml" }, body: JSON.stringify(body) };
}

export interface Presented {
  readonly cert: string;
  readonly key: string;
}

export function presented({ pem, privateKey }: Issued): Presented {
  return { cert: pem, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** A certificate for the user "tenant" that the servers' client CA has signed. */
export function tenantCertificate({ users }: Authorities): Presented {
  const subject = [["CN", "tenant"] as const, ["O", "tenants"] as const];
  return presented(issueClient(users, { subject, ...VALID_NOW }));
}

export interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly text: string;
  /** Undefined if the text is not JSON. */
  readonly body: Json;
}

/**
 * Sends HTTP/1.1 lines exactly as written, including casing and duplicates, and returns the response when the server
 * closes the connection.
 */
export async function sendLines(
  server: Member,
  lines: readonly string[],
  { body = "", certificate }: { readonly body?: string; readonly certificate?: Presented } = {},
): Promise<RawResponse> {
  const socket = await openTls(server, certificate);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const length = body === "" ? [] : [`Content-Length: ${Buffer.byteLength(body)}`, "Content-Type: application/json"];
  const isClosing = lines.some((line) => /^connection:/i.test(line));
  socket.write([...lines, "Host: x", ...length, ...(isClosing ? [] : ["Connection: close"]), "", body].join("\r\n"));
  await once(socket, "close");
  return parseRawResponse(Buffer.concat(chunks).toString("utf8"));
}

export async function openTls(server: Member, certificate?: Presented): Promise<TLSSocket> {
  const options = { host: "127.0.0.1", port: server.port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] };
  const socket = connectTls({ ...options, ...certificate });
  socket.on("error", () => {});
  await once(socket, "secureConnect");
  return socket;
}

export function parseRawResponse(received: string): RawResponse {
  const split = received.indexOf("\r\n\r\n");
  const head = received.slice(0, Math.max(split, 0));
  const text = unchunked(head, received.slice(split + 4));
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 0);
  return { status, head, text, body: parsed(text) };
}

function unchunked(head: string, text: string): string {
  if (!/^transfer-encoding: chunked/im.test(head)) return text;
  return text.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, "").replace(/\r\n$/, "");
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends an HTTP/2 request. Its header names are in lower case, and a name may occur several times. */
export async function sendHttp2(
  server: Member,
  headers: Record<string, string | string[]>,
  { body = "", certificate }: { readonly body?: string; readonly certificate?: Presented } = {},
): Promise<RawResponse> {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false, ...certificate });
  session.on("error", () => {});
  try {
    const type = body === "" ? {} : { "content-type": "application/json" };
    const stream = session.request({ ...headers, ...type }, { endStream: body === "" });
    if (body !== "") stream.end(body);
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    const [[answered]] = (await Promise.all([once(stream, "response"), once(stream, "end")])) as [
      [Record<string, string>],
      unknown,
    ];
    return { status: Number(answered[":status"]), head: "", text, body: parsed(text) };
  } finally {
    session.destroy();
  }
}

export const REVIEW_PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
export const REVIEW = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });

/** The user in the response to a SelfSubjectReview. */
export const userIn = ({ body }: Pick<RawResponse, "body">): Json => body?.status?.userInfo;

export const TENANT = { username: "tenant", uid: "tenant-uid", groups: ["tenants", "system:authenticated"] } as const;
export const UNAUTHORIZED = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "Unauthorized",
  reason: "Unauthorized",
  code: 401,
} as const;

/** The message of the 403 for an anonymous client that creates a SelfSubjectReview. */
export const ANONYMOUS_FORBIDDEN =
  'selfsubjectreviews.authentication.k8s.io is forbidden: User "system:anonymous" cannot create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope';

/** The message of the 403 for the tenant that reads the Secret of the other namespace. */
export const SECRET_FORBIDDEN = `secrets "treasure" is forbidden: User "tenant" cannot get resource "secrets" in API group "" in the namespace "${OTHER}"`;
