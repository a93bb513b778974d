/** Finds out in which records the live servers allocate cluster IPs, from their releases. */
import { numberRecordsOf, type NumberRecords } from "../../cluster/allocation/number-records.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { createReleaseGates, type ReleaseGates } from "../../objects/release-gates.ts";

/** A server without a known release may be any. */
export function liveNumberRecords(release: string, { records, view }: Peers): NumberRecords {
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
  return release !== undefined && /^1\.\d{1,3}$/.test(release) ? createReleaseGates(release) : undefined;
}
