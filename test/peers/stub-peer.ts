/**
 * A stub that looks like a kube-apiserver to its peers: it has an identity lease, an endpoint record without Evenkeel's
 * annotations, a discovery document, and responses that the test chooses. It records all requests except probes and
 * requests for its version and its checks.
 */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { setTimeout as pause } from "node:timers/promises";
import { endpointKey } from "../../src/cluster/peers/endpoint-record.ts";
import type { Json } from "./client.ts";
import type { Member, TestCluster } from "./cluster.ts";
import { eventually } from "./wait.ts";

export interface Arrival {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  /** The common name of the certificate that the client presented. */
  readonly caller: string | undefined;
  /** All values of a header, in order. */
  all(name: string): string[];
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface StubOptions {
  readonly id: string;
  /**
   * The groups of the stub's aggregated discovery document. `discovery` overrides the response to discovery requests.
   */
  readonly groups?: readonly Json[];
  readonly discovery?: Respond;
  readonly respond?: Respond;
  /** The response to /version. Without it the stub rejects the request, so that its release is unknown. */
  readonly version?: Json;
  /** The IP address on which the stub listens. Default 127.0.0.1. */
  readonly host?: string;
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
  /** The endpoint record: JSON, no record, or the bytes that the function returns. */
  readonly record?: "json" | "none" | ((port: number) => Buffer);
}

/** An API group that no release serves. */
export const EXTRA_GROUP = "extra.example.com";
export const WIDGETS = `/apis/${EXTRA_GROUP}/v1/widgets`;
export const WIDGETS_LABELS = `group="${EXTRA_GROUP}",version="v1",resource="widgets"`;
/** A resource in a group of Kubernetes that no release serves. */
export const OLD_JOBS = "/apis/batch/v2alpha1/oldjobs";
const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const RENEW_MS = 1_000;

export function discoveryGroup(name: string, resources: readonly Json[], version = "v1"): Json {
  return { metadata: { name }, versions: [{ version, freshness: "Current", resources }] };
}

export function discoveryResource(resource: string, more: Json = {}): Json {
  return {
    resource,
    responseKind: { group: "", version: "", kind: `${resource[0]!.toUpperCase()}${resource.slice(1, -1)}` },
    scope: "Cluster",
    singularResource: resource.slice(0, -1),
    verbs: ALL_VERBS,
    ...more,
  };
}

export const EXTRA_GROUPS: readonly Json[] = [
  discoveryGroup(EXTRA_GROUP, [
    discoveryResource("widgets", {
      subresources: [{ subresource: "attach", responseKind: { kind: "Widget" }, verbs: ["get", "create"] }],
    }),
  ]),
];

export const OLD_GROUPS: readonly Json[] = [discoveryGroup("batch", [discoveryResource("oldjobs")], "v2alpha1")];

export class StubPeer {
  readonly id: string;
  readonly port: number;
  /** Resource requests in the order of arrival. */
  readonly arrivals: Arrival[] = [];
  readonly discoveryArrivals: Arrival[] = [];
  groups: readonly Json[];
  respond: Respond;
  discovery: Respond | undefined;
  version: Json;
  /** True if the stub responds to no request, not even to probes. */
  isHanging = false;
  onUpgrade: ((request: IncomingMessage, socket: Duplex, head: Buffer) => void) | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #cluster: TestCluster;
  readonly #ended = new AbortController();

  static async start(cluster: TestCluster, through: Member, options: StubOptions): Promise<StubPeer> {
    const { serving, proxyCa } = cluster.credentials;
    const { certPem, keyPem } = options.certificate ?? serving;
    const server = createServer({ cert: certPem, key: keyPem, ca: proxyCa, requestCert: true, keepAlive: true });
    server.listen(0, options.host ?? "127.0.0.1");
    await once(server, "listening");
    const stub = new StubPeer(cluster, server, options);
    cluster.defer(() => stub.close());
    await stub.#appear(through, options.record ?? "json");
    return stub;
  }

  private constructor(cluster: TestCluster, server: Server, options: StubOptions) {
    this.id = options.id;
    this.groups = options.groups ?? EXTRA_GROUPS;
    this.respond =
      options.respond ?? ((_request, response) => sendJson(response, 200, { kind: "WidgetList", items: [] }));
    this.discovery = options.discovery;
    this.version = options.version;
    this.#cluster = cluster;
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("secureConnection", (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      // A handshake that ends after the server was closed would keep it open.
      if (!server.listening) socket.destroy();
      socket.on("close", () => this.#sockets.delete(socket));
    });
    server.on("tlsClientError", () => {});
    server.on("checkContinue", (request, response) => this.#take(request, response));
    server.on("request", (request, response) => this.#take(request, response));
    server.on("upgrade", (request, socket, head) => {
      this.arrivals.push(arrival(request));
      if (this.onUpgrade === undefined) socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
      else this.onUpgrade(request, socket, head);
    });
  }

  get isGone(): boolean {
    return this.#ended.signal.aborted;
  }

  /** Closes all connections and rejects new ones, while the lease of the stub is still renewed. */
  async silence(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Deletes the lease and the endpoint record of the stub, as a stopping server does. */
  async leave(through: Member): Promise<void> {
    this.#ended.abort();
    await this.#cluster.remove(endpointKey("/registry/", this.id));
    await through.delete(`${LEASES}/${this.id}`);
    await this.silence();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.silence();
  }

  async #appear(through: Member, record: NonNullable<StubOptions["record"]>): Promise<void> {
    if (record !== "none")
      await this.#cluster.put(
        endpointKey("/registry/", this.id),
        record === "json" ? JSON.stringify(endpoints(this.id, this.port)) : record(this.port),
      );
    const created = await through.create(LEASES, lease(this.id));
    if (created.status !== 201) throw new Error(`no lease: ${created.text}`);
    void this.#renew(through);
  }

  async #renew(through: Member): Promise<void> {
    const { signal } = this.#ended;
    const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
    for (;;) {
      await pause(RENEW_MS, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      const body = JSON.stringify({ spec: { renewTime: microTime() } });
      await through.call(`${LEASES}/${this.id}`, { ...patch, body }).catch(() => {});
    }
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    request.on("error", () => {});
    response.on("error", () => {});
    if (this.isHanging) return;
    const path = request.url!.split("?")[0]!;
    if (path === "/livez/ping") {
      response.end("pong");
      return;
    }
    if (path === "/version" || path === "/readyz") {
      if (path === "/readyz" || this.version === undefined) sendJson(response, 403, {});
      else sendJson(response, 200, this.version);
      return;
    }
    const isDiscovery = /^\/(api|apis)(\/[^/]+){0,2}$/.test(path) && !path.startsWith(WIDGETS);
    (isDiscovery ? this.discoveryArrivals : this.arrivals).push(arrival(request));
    if (!isDiscovery) void this.respond(request, response);
    else if (this.discovery !== undefined) void this.discovery(request, response);
    else sendDocument(response, path === "/api" ? [] : this.groups);
  }
}

export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

export function lease(id: string, namespace = "kube-system"): Json {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: id, namespace, labels: { "apiserver.kubernetes.io/identity": "kube-apiserver" } },
    spec: { holderIdentity: `${id}_0`, leaseDurationSeconds: 3600, renewTime: microTime() },
  };
}

export function endpoints(id: string, port: number): Json {
  return {
    kind: "Endpoints",
    apiVersion: "v1",
    metadata: { generation: 1, labels: { apiserverIdentity: id } },
    subsets: [{ addresses: [{ ip: "127.0.0.1" }], ports: [{ name: "https", port, protocol: "TCP" }] }],
  };
}

/** Replaces the endpoint record of a peer by one without an address. */
export async function withdrawAddress(cluster: TestCluster, id: string): Promise<void> {
  const metadata = { labels: { apiserverIdentity: id }, annotations: { "evenkeel.io/release": "1.36" } };
  const record = { kind: "Endpoints", apiVersion: "v1", metadata, subsets: [] };
  await cluster.put(endpointKey("/registry/", id), JSON.stringify(record));
}

export function sendJson(response: ServerResponse, status: number, value: Json, headers: Json = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(`${JSON.stringify(value)}\n`);
}

export function sendDocument(response: ServerResponse, items: readonly Json[], version = "v2"): void {
  const type = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const value = { kind: "APIGroupDiscoveryList", apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
  sendJson(response, 200, value, { "content-type": type });
}

/** Starts a stub and waits until the first server of the cluster knows it. */
export async function startStub(
  cluster: TestCluster,
  options: Partial<StubOptions> = {},
): Promise<{ readonly member: Member; readonly stub: StubPeer }> {
  const member = cluster.members[0]!;
  const before = member.usablePeers;
  const stub = await StubPeer.start(cluster, member, { id: "stub", ...options });
  await eventually(
    () => member.usablePeers,
    (ids) => ids.length === before.length + 1,
  );
  if (cluster.source === "storageversion") await registerStorageVersions(member, stub.id, stub.groups);
  return { member, stub };
}

const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";

/** Registers the groups in StorageVersion objects as a server does, except versions that are marked as stale. */
export async function registerStorageVersions(through: Member, id: string, groups: readonly Json[]): Promise<void> {
  for (const { metadata, versions } of groups)
    for (const { version, freshness, resources } of versions)
      for (const { resource } of freshness === "Stale" ? [] : resources)
        await addEntry(through, `${metadata.name ?? "core"}.${resource}`, {
          ...{ apiServerID: id, encodingVersion: `${metadata.name}/${version}` },
          ...{ decodableVersions: [`${metadata.name}/${version}`], servedVersions: [`${metadata.name}/${version}`] },
        });
}

/** Adds an entry to a StorageVersion, or replaces that of its server. Retries on conflicts, because other servers write the object, too. */
async function addEntry(through: Member, name: string, entry: Json): Promise<void> {
  const kind = { apiVersion: "internal.apiserver.k8s.io/v1alpha1", kind: "StorageVersion" };
  await through.create(STORAGE_VERSIONS, { ...kind, metadata: { name }, spec: {} });
  const { status: code, text } = await eventually(
    async () => {
      const { body } = await through.get(`${STORAGE_VERSIONS}/${name}`);
      const others = (body.status?.storageVersions ?? []).filter(
        (other: Json) => other.apiServerID !== entry.apiServerID,
      );
      const storageVersions = [...others, entry];
      const status = { commonEncodingVersion: entry.encodingVersion, ...body.status, storageVersions };
      return through.call(`${STORAGE_VERSIONS}/${name}/status`, { method: "PUT", body: { ...body, status } });
    },
    (response) => response.status !== 409,
  );
  if (code !== 200) throw new Error(`no entry: ${text}`);
}

function arrival(request: IncomingMessage): Arrival {
  const { rawHeaders, method = "", url = "" } = request;
  const caller: unknown = (request.socket as TLSSocket).getPeerCertificate().subject?.CN;
  return {
    method,
    url,
    rawHeaders,
    caller: typeof caller === "string" ? caller : undefined,
    all: (name) =>
      rawHeaders.filter((_value, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === name.toLowerCase()),
  };
}

function microTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
