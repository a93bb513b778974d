/** From a subresource to what answers it. */
import type { ServedResource } from "../../registry/resource.ts";
import { APPROVAL_DOOR } from "../../registry/subresources/approval.ts";
import type { SubresourceDoor } from "../../registry/subresources/door-update.ts";
import { EPHEMERAL_CONTAINERS_DOOR } from "../../registry/subresources/ephemeral-containers.ts";
import { RESIZE_DOOR } from "../../registry/subresources/resize.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import type { Representation } from "../render/negotiate.ts";
import { bindingEndpoint } from "./binding.ts";
import { connectionEndpoint, isConnection } from "./connections.ts";
import { doorEndpoint } from "./door.ts";
import { evictionEndpoint } from "./eviction.ts";
import { scaleEndpoint } from "./scale.ts";
import { tokenRequestEndpoint, type TokenRequests } from "./token-request/token-request.ts";

export interface SubresourceContext {
  readonly representation: Representation;
  /** PodDisruptionBudgets, where they are served. */
  readonly budgets: () => ServedResource | undefined;
  /** Undefined where no tokens are made. */
  readonly tokens: TokenRequests | undefined;
  /** The audit event is told. */
  readonly annotate: ((key: string, value: string) => void) | undefined;
}

const DOORS: ReadonlyMap<string, SubresourceDoor> = new Map(
  [EPHEMERAL_CONTAINERS_DOOR, RESIZE_DOOR, APPROVAL_DOOR].map((door) => [door.subresource, door]),
);

/** Undefined for a subresource that nothing answers yet. The verb has been checked against what discovery shows. */
export function subresourceEndpoint(
  call: EndpointCall,
  { representation, budgets, tokens, annotate }: SubresourceContext,
): Promise<EndpointResponse> | undefined {
  const { subresource } = call.request.info;
  const door = DOORS.get(subresource);
  if (door !== undefined) return doorEndpoint(call, door);
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
