/** Finds out in which records the live servers allocate cluster IPs, from their releases. */
import { numberRecordsOf, type NumberRecords } from "../../cluster/allocation/number-records.ts";
import type { Liveness } from "../../cluster/peers/live-servers.ts";
import type { ClusterView, PeerView } from "../../cluster/peers/view.ts";
import { gatesOfAny } from "../../objects/catalog/release-gates.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

interface LivePeers {
  readonly records: { readonly liveness: () => Pick<Liveness, "servers" | "overdue"> };
  readonly view: () => Pick<ClusterView, "peers">;
}

/** `release` is that of this server. A server without a known release may be any. */
export function liveNumberRecords(release: string, { records, view }: LivePeers): NumberRecords {
  const { servers, overdue } = records.liveness();
  const { peers } = view();
  const gates = servers.map((server) => {
    const peer = peers.find(({ id }) => id === server.id);
    return gatesOfServer(server.release ?? peer?.release ?? peer?.kube?.assumedRelease, peer);
  });
  return numberRecordsOf([gatesOf(release), ...gates, ...overdue.map((one) => gatesOf(one.release))]);
}

/**
 * A kube-apiserver of 1.31 or 1.32 that serves IPAddress objects may have the feature gate MultiCIDRServiceAllocator,
 * which is off by default, and use both records. It counts as of an unknown release.
 */
function gatesOfServer(release: string | undefined, peer: PeerView | undefined): ReleaseGates | undefined {
  const gates = gatesOf(release);
  if (gates === undefined || gates.isOn("MultiCIDRServiceAllocator") || peer?.kube === undefined) return gates;
  return peer.document?.served.has(BETA_ADDRESSES) === true ? undefined : gates;
}

const BETA_ADDRESSES = {
  group: "networking.k8s.io",
  version: "v1beta1",
  resource: "ipaddresses",
  subresource: "",
} as const;

/** Undefined for a release that is unknown or has an unknown form. */
function gatesOf(release: string | undefined): ReleaseGates | undefined {
  return release !== undefined && /^1\.\d{1,3}$/.test(release) ? gatesOfAny(release) : undefined;
}
