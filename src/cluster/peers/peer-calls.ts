/**
 * The calls of a server to its peers: the tracker sends probes and fetches discovery documents, and the proxy sends
 * requests.
 */
import type { BaseEnv } from "../../base/env.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { Upstream } from "../../serving/http/upstream.ts";
import { createRequestPeer, type RequestPeer } from "./request-peer.ts";
import { createForward, type Forward } from "./forward.ts";
import type { MemberConfig } from "./peer-config.ts";
import { PeerTracker } from "./peer-tracker.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";

interface PeerCallsParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  /** Undefined if no peer can be called. */
  readonly upstream: Upstream | undefined;
  readonly metrics: ProxyMetrics;
  /** Whether a discovery document lists a custom resource that this server has not read from the store. */
  readonly listsUnread: (groups: readonly DiscoveryGroup[]) => boolean;
  /** Called when a document or the reachability of a peer has changed. */
  readonly onChange: () => void;
}

interface PeerCalls {
  /** Undefined if no peer can be called. */
  readonly tracker: PeerTracker | undefined;
  /** Undefined if no peer can be called. */
  readonly ask: RequestPeer | undefined;
  readonly forward: Forward;
}

export function createPeerCalls(parts: PeerCallsParts): PeerCalls {
  const { env, config, upstream, metrics, listsUnread, onChange } = parts;
  // Without credentials no peer can be called, and no route leads to one.
  if (upstream === undefined)
    return { tracker: undefined, ask: undefined, forward: () => Promise.reject(new Error("no peer can be called")) };
  const { clock, random, log } = env;
  const ask = createRequestPeer({ upstream, clock });
  const tracker = new PeerTracker({
    upstream,
    clock,
    random,
    log,
    ask,
    metrics,
    listsUnread,
    onChange,
    timing: config.peers.timing,
  });
  const forward = createForward({
    upstream,
    clock,
    random,
    log,
    metrics,
    requestsInflightMax: config.peers.requestsInflightMax,
    onResponse: (id) => tracker.reportResponse(id),
    onMiss: (id, error) => tracker.reportMiss(id, error),
  });
  return { tracker, ask, forward };
}
