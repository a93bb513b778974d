/**
 * Checks whether an aggregated server is available: first its Service and EndpointSlices, then its own discovery
 * response.
 */
import { messageOf } from "../../base/within.ts";
import { UpstreamError } from "../../serving/http/upstream.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { goQuote } from "../../meta/go-quote.ts";
import type { ApiServiceCondition, RemoteApiService } from "./api-service.ts";
import type { CallServer } from "./call-server.ts";
import {
  hasReadyEndpoint,
  overrideOf,
  servicePortName,
  serviceType,
  type Resolution,
  type ServiceOverrides,
  type ServiceState,
} from "../../access/webhook-client/service-resolver.ts";

const CHECK_MS = 5_000;
/** Large enough for any discovery document; the body itself is not used. */
const CHECK_BYTES_MAX = 4 * 1024 * 1024;

/** Returns the condition that an APIService has without a call to its server; undefined if the server can be called. */
export function unavailableCondition(
  { service: reference }: RemoteApiService,
  state: ServiceState,
  overrides: ServiceOverrides,
): ApiServiceCondition | undefined {
  const { namespace, name, port } = reference;
  const described = `service/${name} in ${goQuote(namespace)}`;
  if (overrideOf(overrides, reference) !== undefined) return undefined;
  const service = state.service(namespace, name);
  if (service === undefined) return isFalse("ServiceNotFound", `${described} is not present`);
  if (serviceType(service) !== "ClusterIP") return undefined;
  const portName = servicePortName(service, port);
  if (portName === undefined) return isFalse("ServicePortError", `${described} is not listening on port ${port}`);
  const slices = state.endpointSlices(namespace, name);
  if (slices.length === 0) return isFalse("EndpointsNotFound", `cannot find endpointslices for ${described}`);
  if (hasReadyEndpoint(slices, portName)) return undefined;
  const missing = `endpointslices for ${described} have no addresses with port name ${goQuote(portName)}`;
  return isFalse("MissingEndpoints", missing);
}

/** Requests discovery from all addresses at once; one good response is enough. */
export async function discoveryCheck(
  apiService: RemoteApiService,
  {
    ask,
    resolution,
    signal,
  }: { readonly ask: CallServer; readonly resolution: Resolution; readonly signal: AbortSignal },
): Promise<ApiServiceCondition> {
  if (resolution.kind === "unresolved") return isFalse("FailedDiscoveryCheck", resolution.message);
  const target = `/apis/${formatGroupVersion(apiService)}`;
  const attempts = resolution.addresses.map(async (address) => {
    const host = address.host.includes(":") ? `[${address.host}]` : address.host;
    const url = `https://${host}:${address.port}${target}`;
    const bounds = { timeoutMs: CHECK_MS, bytesMax: CHECK_BYTES_MAX };
    try {
      const { status } = await ask(apiService, { address, target, ...bounds, signal });
      if (status >= 200 && status < 300) return;
      throw new Error(`bad status from ${url}: ${status}`);
    } catch (thrown) {
      const why = thrown instanceof UpstreamError ? `Get ${goQuote(url)}: ${thrown.message}` : messageOf(thrown);
      throw new Error(`failing or missing response from ${url}: ${why}`, { cause: thrown });
    }
  });
  try {
    await Promise.any(attempts);
    return { type: "Available", status: "True", reason: "Passed", message: "all checks passed" };
  } catch (thrown) {
    // Sorted, so that the condition has the same message after every check; otherwise it would change each time.
    const messages = (thrown instanceof AggregateError ? thrown.errors : [thrown]).map(messageOf).sort();
    return isFalse("FailedDiscoveryCheck", messages[0] ?? "");
  }
}

function isFalse(reason: string, message: string): ApiServiceCondition {
  return { type: "Available", status: "False", reason, message };
}
