/** Servers of several releases in one process that fetch OpenAPI documents from each other, for tests. */
import { openCatalog, type Catalog } from "../../../../../src/objects/catalog/catalog.ts";
import type { ReleaseName } from "../../../../../src/objects/catalog/release.ts";
import { SILENT_LOG } from "../../../../../src/base/log.ts";
import type { ApiResponse, RequestHeaders } from "../../../../../src/serving/http/message.ts";
import { infoRequest } from "../../http/requests.ts";
import { createManualClock, type ManualClock } from "../../../storage/conformance/manual-clock.ts";
import { openApiHandler, type OpenApiOptions } from "../../../../../src/serving/discovery/openapi/handlers.ts";
import type { OpenApiPeerResponse, OpenApiPeers } from "../../../../../src/serving/discovery/openapi/peers.ts";

export interface OpenApiReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly text: string;
  readonly bytes: Buffer;
}

export interface Cluster {
  readonly clock: ManualClock;
  /** IDs of servers that peers cannot reach. */
  readonly cut: Set<string>;
  /** IDs of servers that have not published a discovery document. */
  readonly undescribed: Set<string>;
  /** Fake responses of servers, keyed by "ID target". */
  readonly lies: Map<string, (signal: AbortSignal) => Promise<OpenApiPeerResponse>>;
  /** Requests that servers have sent to peers, as "ID target" with the ID of the peer. */
  readonly peerRequests: string[];
  readonly documentKeys: Map<string, string>;
  catalog(id: string): Catalog;
  /** Sends a client's request to a server. */
  get(id: string, url: string, headers?: RequestHeaders): Promise<OpenApiReply>;
  /** Sends a request to a server as if a peer had sent it. */
  getAsPeer(id: string, url: string, headers?: RequestHeaders): Promise<OpenApiReply>;
  /** Restarts the server as another release. */
  restart(id: string, release: ReleaseName): void;
  leave(id: string): void;
}

type Handle = ReturnType<typeof openApiHandler>;

export function createCluster(
  members: Readonly<Record<string, ReleaseName>>,
  options: Pick<OpenApiOptions, "mode"> = {},
): Cluster {
  const clock = createManualClock();
  const servers = new Map<string, { readonly catalog: Catalog; readonly handle: Handle }>();
  const [cut, undescribed, asked] = [new Set<string>(), new Set<string>(), [] as string[]];
  const fakeResponses: Cluster["lies"] = new Map();
  const documentKeys = new Map<string, string>();
  const call = async (
    id: string,
    url: string,
    headers: RequestHeaders,
    isVerifiedPeer: boolean,
  ): Promise<OpenApiReply> => {
    const { handle } = servers.get(id)!;
    return toReply(await handle({ ...infoRequest({ url, headers }), isVerifiedPeer }));
  };
  const peersOf = (self: string): OpenApiPeers => ({
    list: () =>
      [...servers]
        .filter(([id]) => id !== self && !undescribed.has(id))
        .map(([serverId, { catalog }]) => ({
          serverId,
          release: catalog.release.name,
          isReachable: !cut.has(serverId),
          documentKey: documentKeys.get(serverId) ?? "",
          hasGroupVersion: (group, version) =>
            catalog.groups.some(({ name, versions }) => name === group && versions.includes(version)),
        })),
    hasUndescribed: () => [...undescribed].some((id) => id !== self),
    async fetch(serverId, target, _headers, signal) {
      asked.push(`${serverId} ${target}`);
      const lie = fakeResponses.get(`${serverId} ${target}`);
      if (lie !== undefined) return lie(signal);
      if (cut.has(serverId)) throw new Error("unreachable");
      const { status, bytes, headers } = await call(serverId, target, {}, true);
      return { status, body: bytes, header: (name) => headers[name]?.toString() };
    },
  });
  const start = (id: string, release: ReleaseName): void => {
    const catalog = openCatalog({ release, extensions: true });
    const handle = openApiHandler({ catalog, clock, log: SILENT_LOG, serverId: id, peers: peersOf(id), ...options });
    servers.set(id, { catalog, handle });
  };
  for (const [id, release] of Object.entries(members)) start(id, release);
  return {
    ...{ clock, cut, undescribed, lies: fakeResponses, peerRequests: asked, documentKeys },
    catalog: (id) => servers.get(id)!.catalog,
    get: (id, url, headers = {}) => call(id, url, headers, false),
    getAsPeer: (id, url, headers = {}) => call(id, url, headers, true),
    restart(id, release) {
      start(id, release);
      documentKeys.set(id, release);
    },
    leave: (id) => void servers.delete(id),
  };
}

/** A fake response: 200 with this body. */
export function respondingWith(body: string | Buffer, etag?: string): () => Promise<OpenApiPeerResponse> {
  return async () => ({ status: 200, body: Buffer.from(body), header: (name) => (name === "etag" ? etag : undefined) });
}

function toReply({ status, headers, body }: ApiResponse): OpenApiReply {
  const bytes = body.kind === "bytes" ? Buffer.concat(body.chunks) : Buffer.alloc(0);
  return { status, headers, bytes, text: bytes.toString("utf8") };
}
