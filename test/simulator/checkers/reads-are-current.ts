/** Checks that a GET returns an object as it was stored at some moment between the request and the response. */
import { NO_VIOLATIONS, type GuaranteeChecker } from "../../../src/tools/simulator/checker.ts";
import type { VersionRecord } from "../version-record.ts";

export function readsAreCurrent(versions: VersionRecord): GuaranteeChecker {
  return {
    name: "reads-are-current",
    promise:
      "A GET returns an object as it was stored at some moment between the request and the response, never as a lost history of the store had it.",
    onResponse({ request, status, atMs, resourceVersion = "" }) {
      const { method, name, target, serverId, startedAtMs } = request;
      if (method !== "GET" || status !== 200 || name === "" || resourceVersion === "") return NO_VIOLATIONS;
      const key = versions.keyOf(name);
      const between = { fromMs: startedAtMs, toMs: atMs };
      if (key !== undefined && versions.wasCurrent(key, resourceVersion, between)) return NO_VIOLATIONS;
      return [`${serverId} returned ${target} at version ${resourceVersion}, which was not current during the request`];
    },
  };
}
