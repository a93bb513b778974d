/** Checks that a server whose identity lease is too old changes nothing in the store except that lease. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { EncodingRecord } from "../encoding-record.ts";

/**
 * Checks the time at which the server sent a change, because a change that was sent in time may arrive late. Before its
 * first lease, a server may write only the resources that it needs to publish its entries. `writtenAsPublished` checks
 * that the server has published its entries again. After a restore of the store, only the renewals in its new history
 * count.
 */
export function fencedUntilPublished(record: EncodingRecord): GuaranteeChecker {
  return {
    name: "fenced-until-published",
    promise: "A server that has not renewed its lease in time changes nothing before it is live again.",
    onCommit({ key, sending }) {
      const run = sending && record.runOf(sending);
      const resource = run && record.resourceAt(run, key);
      if (sending === undefined || resource === undefined || key === `leases/kube-system/${run!.serverId}`)
        return NO_VIOLATIONS;
      const silenceMs = record.silenceMs(sending, sending.sentAtMs);
      const what = `${run!.serverId} changed ${key}`;
      if (silenceMs === undefined)
        return resource.isNeededToPublish ? NO_VIOLATIONS : [`${what} before it had a lease`];
      if (silenceMs <= record.silenceMsMax) return NO_VIOLATIONS;
      return [`${what} although it had not renewed its lease for ${(silenceMs / 1000).toFixed(3)} s`];
    },
  };
}
