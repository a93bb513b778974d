/** The state of the API servers that announced themselves: identity leases and StorageVersion objects. */
import { isJsonObject, numberAt, objectAt, specOf, statusOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import { bounded } from "./collect/resource-stats.ts";
import { isIdentityLease } from "./collect/special-objects.ts";
import type { IdentityLeaseState, StorageVersionOfServer, StorageVersionState } from "./inspection.ts";

const MS_PER_SECOND = 1000;
const SERVERS_MAX = 100;

/** `nowMs`: the newest time in the data. */
export function identityLeaseStates(leases: readonly JsonObject[], nowMs: number): IdentityLeaseState[] {
  return leases.filter(isIdentityLease).map((lease) => {
    const metadata = objectAt(lease, "metadata");
    const spec = specOf(lease);
    const [holder, renewTime] = [stringAt(spec, "holderIdentity"), stringAt(spec, "renewTime")];
    const hostname = stringAt(objectAt(metadata, "labels"), "kubernetes.io/hostname");
    const renewedMs = Date.parse(renewTime);
    const lastsMs = (numberAt(spec, "leaseDurationSeconds") ?? 0) * MS_PER_SECOND;
    const state = Number.isNaN(renewedMs) ? "never-renewed" : renewedMs + lastsMs < nowMs ? "expired" : "live";
    return {
      name: bounded(stringAt(metadata, "name")),
      ...(holder === "" ? {} : { holder: bounded(holder) }),
      ...(hostname === "" ? {} : { hostname: bounded(hostname) }),
      ...(renewTime === "" ? {} : { renewTime: bounded(renewTime) }),
      state,
    };
  });
}

/** The newest renewal, in milliseconds since 1970; 0 if there is none. */
export function newestRenewal(leases: readonly JsonObject[]): number {
  const times = leases.map((lease) => Date.parse(stringAt(specOf(lease), "renewTime")));
  return Math.max(0, ...times.filter((time) => !Number.isNaN(time)));
}

export function storageVersionStates(
  objects: readonly JsonObject[],
  leases: readonly IdentityLeaseState[],
): StorageVersionState[] {
  const live = new Set(leases.filter(({ state }) => state === "live").map(({ name }) => name));
  return objects.map((object) => {
    const status = statusOf(object);
    const listed = status["storageVersions"];
    const servers = (Array.isArray(listed) ? listed : [])
      .filter(isJsonObject)
      .slice(0, SERVERS_MAX)
      .map((server: JsonObject): StorageVersionOfServer => {
        const name = bounded(stringAt(server, "apiServerID"));
        return { server: name, encodingVersion: bounded(stringAt(server, "encodingVersion")), isLive: live.has(name) };
      });
    const common = stringAt(status, "commonEncodingVersion");
    return {
      name: bounded(stringAt(objectAt(object, "metadata"), "name")),
      ...(common === "" ? {} : { commonEncodingVersion: bounded(common) }),
      servers,
      isAgreed: new Set(servers.map(({ encodingVersion }) => encodingVersion)).size <= 1,
    };
  });
}
