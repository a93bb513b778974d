/** Measures the cost of the peer proxy's filter for requests that the server serves itself: every request pays it. */
import { StatusError } from "../../src/meta/status-error.ts";
import { openCatalog } from "../../src/objects/catalog/catalog.ts";
import type { ReleaseName } from "../../src/objects/catalog/release.ts";
import { localGroups } from "../../src/serving/discovery/local.ts";
import type { WithUser } from "../../src/access/auth/user.ts";
import type { Handler } from "../../src/serving/http/chain.ts";
import { NO_CLAIMS } from "../../src/serving/http/filters/strip-identity.ts";
import { NO_BODY, type ApiResponse, type RequestBody } from "../../src/serving/http/message.ts";
import { Query } from "../../src/serving/http/query.ts";
import { parseRequestInfo } from "../../src/serving/http/request-info.ts";
import { peerProxy } from "../../src/cluster/peers/peer-proxy.ts";
import { createServedSet } from "../../src/cluster/peers/served-set.ts";
import type { ClusterView, PeerView } from "../../src/cluster/peers/view.ts";
import { createUnmetNeed } from "../../src/cluster/peers/capabilities.ts";
import { cpuMsOf } from "./cpu-time.ts";
import type { Measurement, Samples } from "./protocol.ts";

const NS_PER_MS = 1e6;
const RELEASE: ReleaseName = "1.36";
const PEER_RELEASES: readonly ReleaseName[] = ["1.33", "1.35"];

/** A typical mix: mostly single objects, some lists with selectors, some writes. */
const REQUESTS = [
  ["GET", "/api/v1/namespaces/default/pods/web"],
  ["GET", "/api/v1/namespaces/default/configmaps/settings"],
  ["GET", "/apis/apps/v1/namespaces/default/deployments/web/scale"],
  ["GET", "/apis/resource.k8s.io/v1/deviceclasses/bench-class"],
  ["GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1"],
  ["GET", "/apis/apps/v1/replicasets?watch=1"],
  ["PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"],
  ["PATCH", "/api/v1/nodes/node-1/status"],
] as const;

/** CPU time per request with the filter, minus that of the same requests without the filter. */
export function measureFilter({ rounds, count }: Extract<Measurement, { kind: "filter" }>): Samples {
  const response: Promise<ApiResponse> = Promise.resolve({ status: 200, headers: {}, body: NO_BODY });
  let answered = 0;
  const next: Handler<WithUser> = () => {
    answered++;
    return response;
  };
  const view = createView();
  const route = peerProxy({
    view: () => view,
    forward: () => Promise.reject(new Error("the request must be served locally")),
    unmetNeed: createUnmetNeed(openCatalog({ release: RELEASE }), "extended"),
    isVersionAware: true,
  });
  const unknown = (message: string): StatusError => new StatusError("NotFound", message);
  const ways = { here: next, unknown };
  const filtered: Handler<WithUser> = (request) => route(request, ways);
  const requests = REQUESTS.map(([method, target]) => createRequest(method, target));
  const time = (handler: Handler<WithUser>): number => {
    const before = answered;
    const usedMs = cpuMsOf(() => {
      for (let index = 0; index < count; index++) void handler(requests[index % requests.length]!);
    });
    if (answered !== before + count) throw new Error("not every request was served locally");
    return (usedMs * NS_PER_MS) / count;
  };
  time(next);
  time(filtered);
  return Array.from({ length: rounds }, () => {
    const without = time(next);
    return time(filtered) - without;
  });
}

function createView(): ClusterView {
  return {
    self: { id: "self", release: RELEASE },
    isSynced: true,
    missingFlag: undefined,
    local: servedBy(RELEASE),
    peers: PEER_RELEASES.map(createPeer),
    departed: () => undefined,
    isDecidedLocally: () => false,
    supports: () => false,
  };
}

function createPeer(release: ReleaseName): PeerView {
  return {
    id: `peer-${release}`,
    release,
    address: { host: "127.0.0.1", port: 6443 },
    isReachable: true,
    isDraining: false,
    isDescribed: true,
    document: { served: servedBy(release), confirmedAtMs: 0 },
  };
}

function servedBy(release: ReleaseName): ReturnType<typeof createServedSet> {
  return createServedSet(localGroups(openCatalog({ release })));
}

const EMPTY_BODY: RequestBody = {
  isEmpty: true,
  read: () => Promise.resolve(Buffer.alloc(0)),
  async *stream() {},
};

function createRequest(method: string, target: string): WithUser {
  const [path = "", rawQuery = ""] = target.split("?");
  const query = new Query(rawQuery);
  const info = parseRequestInfo(method, path, query);
  if (info === undefined) throw new Error(`${target} is not a path`);
  return {
    method,
    path,
    rawQuery,
    headers: { accept: "application/json", "content-type": "application/merge-patch+json" },
    body: EMPTY_BODY,
    connection: { protocol: "http/1.1", remoteAddress: "127.0.0.1", clientChain: [] },
    signal: new AbortController().signal,
    claims: NO_CLAIMS,
    query,
    info,
    user: { name: "bench", uid: "bench", groups: ["system:masters"], extra: {} },
    isVerifiedPeer: false,
    isProxied: false,
  };
}
