/** Finds out in which records the live servers allocate cluster IPs, from their releases. */
import { numberRecordsOf, type NumberRecords } from "../../cluster/allocation/number-records.ts";
import type { LiveServer } from "../../cluster/peers/live-servers.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { gatesOfAny } from "../../objects/catalog/release-gates.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";
import type { ServedSet } from "../../cluster/peers/served-set.ts";

export function liveNumberRecords(release: string, { records, view }: Peers): NumberRecords {
  const { servers, overdue } = records.liveness();
  const releases = servers.map((server) => server.release ?? describedRelease(server, view().peers));
  return numberRecordsOf([release, ...releases, ...overdue.map((one) => one.release)].map(gatesOf));
}

/** Undefined for a release that is unknown or has an unknown form. */
function gatesOf(release: string | undefined): ReleaseGates | undefined {
  return release !== undefined && /^1\.\d{1,3}$/.test(release) ? gatesOfAny(release) : undefined;
}

/** A kube-apiserver does not publish its release, but its discovery document shows which records it uses. */
function describedRelease(
  { id }: LiveServer,
  peers: readonly { readonly id: string; readonly document: { readonly served: ServedSet } | undefined }[],
): string | undefined {
  const served = peers.find((peer) => peer.id === id)?.document?.served;
  if (served === undefined) return undefined;
  const has = (group: string, version: string, resource: string): boolean =>
    served.has({ group, version, resource, subresource: "" });
  if (!has("networking.k8s.io", "v1", "ipaddresses")) return "1.32";
  return has("resource.k8s.io", "v1", "deviceclasses") ? "1.34" : "1.33";
}
