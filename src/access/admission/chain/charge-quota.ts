/**
 * Adds the usage of an admitted object to the status of a ResourceQuota before the object is stored. Returns undefined
 * after a conflict or if the quota does not exist, so that the caller can check the quota again.
 */
import type { ChargeQuota } from "../plugins/quota/resource-quota.ts";
import { objectAt, stringAt } from "../../../meta/json.ts";
import { isReason } from "../../../meta/status-error.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import { objectIn } from "../../../serving/registry/representation.ts";
import { translated } from "../../../serving/registry/storage-errors.ts";
import { update } from "../../../serving/registry/update.ts";
import type { ServedBy } from "../../../serving/resources/stored-objects.ts";

const MANAGER = "kube-apiserver";

export function createChargeQuota(context: RegistryContext, servedBy: ServedBy): ChargeQuota {
  return async (quota, status) => {
    const served = servedBy({ group: "", resource: "resourcequotas" });
    if (served === undefined) return undefined;
    const metadata = objectAt(quota, "metadata");
    const { apiVersion, kind } = served;
    try {
      const { written } = await translated(() =>
        update(context, served, {
          namespace: stringAt(metadata, "namespace"),
          name: stringAt(metadata, "name"),
          endpoint: "status",
          verb: "update",
          dryRun: false,
          manager: MANAGER,
          next: () => ({ apiVersion, kind, ...quota, status }),
        }),
      );
      return "entry" in written ? objectIn(written.entry, served) : written.object;
    } catch (thrown) {
      if (isReason(thrown, "Conflict") || isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  };
}
