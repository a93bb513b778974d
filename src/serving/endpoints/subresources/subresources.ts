/** Selects the endpoint of a subresource. */
import type { ServedResource } from "../../registry/resource.ts";
import { APPROVAL_STRATEGY } from "../../registry/subresources/approval.ts";
import type { SubresourceStrategy } from "../../registry/subresources/partial-update.ts";
import { EPHEMERAL_CONTAINERS_STRATEGY } from "../../registry/subresources/ephemeral-containers.ts";
import { RESIZE_STRATEGY } from "../../registry/subresources/resize.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import type { Representation } from "../render/negotiate.ts";
import { bindingEndpoint } from "./binding.ts";
import { connectionEndpoint, isConnection } from "./connections.ts";
import { subresourceWriteEndpoint } from "./partial-write.ts";
import { evictionEndpoint } from "./eviction.ts";
import { scaleEndpoint } from "./scale.ts";
import { tokenRequestEndpoint, type TokenRequests } from "./token-request/token-request.ts";

interface SubresourceContext {
  readonly representation: Representation;
  /** The resource PodDisruptionBudgets; undefined if it is not served. */
  readonly budgets: () => ServedResource | undefined;
  /** Undefined if this server does not issue tokens. */
  readonly tokens: TokenRequests | undefined;
  /** Adds an annotation to the audit event of the request. */
  readonly annotate: ((key: string, value: string) => void) | undefined;
}

const STRATEGIES: ReadonlyMap<string, SubresourceStrategy> = new Map(
  [EPHEMERAL_CONTAINERS_STRATEGY, RESIZE_STRATEGY, APPROVAL_STRATEGY].map((strategy) => [
    strategy.subresource,
    strategy,
  ]),
);

/**
 * Returns undefined for a subresource that is not implemented. The caller has checked that discovery lists the verb.
 */
export function subresourceEndpoint(
  call: EndpointCall,
  { representation, budgets, tokens, annotate }: SubresourceContext,
): Promise<EndpointResponse> | undefined {
  const { subresource } = call.request.info;
  const strategy = STRATEGIES.get(subresource);
  if (strategy !== undefined) return subresourceWriteEndpoint(call, strategy);
  if (isConnection(subresource)) return connectionEndpoint(call);
  switch (subresource) {
    case "scale":
      return scaleEndpoint(call, representation);
    case "binding":
      return bindingEndpoint(call);
    case "eviction":
      return evictionEndpoint(call, budgets());
    case "token":
      return tokens && tokenRequestEndpoint(call, { representation, tokens, annotate });
    default:
      return undefined;
  }
}
