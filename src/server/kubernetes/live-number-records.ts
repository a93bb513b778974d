/** Finds out in which records the live servers allocate cluster IPs, from their releases. */
import { numberRecordsOf, type NumberRecords } from "../../cluster/allocation/number-records.ts";
import type { LiveServer } from "../../cluster/peers/live-servers.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { createReleaseGates, type ReleaseGates } from "../../objects/release-gates.ts";
import type { ServedSet } from "../../cluster/peers/served-set.ts";

interface LivePeers {
  readonly records: Pick<Peers["records"], "liveness">;
  readonly view: () => { readonly peers: readonly DescribedPeer[] };
}

interface DescribedPeer {
  readonly id: string;
  readonly document: { readonly served: ServedSet } | undefined;
}

export function liveNumberRecords(release: string, { records, view }: LivePeers): NumberRecords {
  const { servers, overdue } = records.liveness();
  const releases = servers.map((server) => server.release ?? describedRelease(server, view().peers));
  return numberRecordsOf([release, ...releases, ...overdue.map((one) => one.release)].map(gatesOf));
}

/** Undefined for a release that is unknown or has an unknown form. */
function gatesOf(release: string | undefined): ReleaseGates | undefined {
  return release !== undefined && /^1\.\d{1,3}$/.test(release) ? createReleaseGates(release) : undefined;
}

/**
 * A kube-apiserver does not publish its release, but its discovery document shows which records it uses. A kube-apiserver
 * of 1.31 or 1.32 may use both records, if it was configured to serve IPAddress objects. It counts as of an unknown release.
 */
function describedRelease({ id }: LiveServer, peers: readonly DescribedPeer[]): string | undefined {
  const served = peers.find((peer) => peer.id === id)?.document?.served;
  if (served === undefined) return undefined;
  const has = (group: string, version: string, resource: string): boolean =>
    served.has({ group, version, resource, subresource: "" });
  if (!has("networking.k8s.io", "v1", "ipaddresses"))
    return has("networking.k8s.io", "v1beta1", "ipaddresses") ? undefined : "1.32";
  return has("resource.k8s.io", "v1", "deviceclasses") ? "1.34" : "1.33";
}
