/** Finds out in which records the live servers allocate cluster IPs, from their releases. */
import { numberRecordsOf, type NumberRecords } from "../../cluster/allocation/number-records.ts";
import type { Liveness } from "../../cluster/peers/live-servers.ts";
import type { ClusterView } from "../../cluster/peers/view.ts";
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
  const releases = servers.map((server) => {
    const peer = peers.find(({ id }) => id === server.id);
    return server.release ?? peer?.release ?? peer?.kube?.assumedRelease;
  });
  return numberRecordsOf([release, ...releases, ...overdue.map((one) => one.release)].map(gatesOf));
}

/** Undefined for a release that is unknown or has an unknown form. */
function gatesOf(release: string | undefined): ReleaseGates | undefined {
  return release !== undefined && /^1\.\d{1,3}$/.test(release) ? gatesOfAny(release) : undefined;
}
