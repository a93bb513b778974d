/** Decides whether, and with which address, a server is an endpoint of the kubernetes Service. */
import type { PublishedEndpoint } from "../cluster/peers/peer-config.ts";
import { endpointIpErrors } from "../objects/kinds/network/ip-checks.ts";
import { OptionError } from "../base/option-error.ts";

/** The address at which the rest of the cluster reaches the server. */
export interface Advertise {
  /** Undefined if the server listens only on addresses that no other machine can reach. */
  readonly address: string | undefined;
  /** Default: the port on which the server listens. */
  readonly port?: number;
}

/** As kube-apiserver's --endpoint-reconciler-type. */
const RECONCILER_TYPES = ["lease", "none"] as const;

/** Undefined for a server without a listener. */
export function publishedEndpoint(
  advertise: Advertise | undefined,
  reconcilerType: string = "lease",
): PublishedEndpoint | undefined {
  checkReconcilerType(reconcilerType);
  if (advertise === undefined) return undefined;
  const { address, port } = advertise;
  if (reconcilerType === "none") return { address: undefined, because: "--endpoint-reconciler-type is none" };
  if (address === undefined)
    return { address: undefined, because: "it listens only on addresses that other machines cannot reach" };
  if (!endpointIpErrors(address, "").next().done)
    return { address: undefined, because: `Endpoints may not contain its address ${address}` };
  return { address, port };
}

function checkReconcilerType(type: string): void {
  if (RECONCILER_TYPES.some((known) => known === type)) return;
  const reason =
    type === "master-count"
      ? "is not supported, because it keeps the addresses of crashed servers"
      : `must be ${RECONCILER_TYPES.join(" or ")}, not ${JSON.stringify(type.slice(0, 100))}`;
  throw new OptionError(`--endpoint-reconciler-type${type === "master-count" ? "=master-count" : ""} ${reason}`);
}
