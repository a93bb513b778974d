/** Converts EndpointSlices: v1beta1 has the zone and the node name of an endpoint in a map of topology labels. */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, updateItems } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const HOSTNAME_LABEL = "kubernetes.io/hostname";

export const ENDPOINT_SLICE_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["EndpointSlice"],
    hub: ["discovery.k8s.io/v1"],
    spokes: [
      {
        versions: ["discovery.k8s.io/v1beta1"],
        toHub: (slice) => updateItems(slice, "endpoints", splitTopology),
        fromHub: (slice) => updateItems(slice, "endpoints", joinTopology),
      },
    ],
  },
]);

/** Keeps the hostname label in deprecatedTopology only if it differs from nodeName. */
function splitTopology(endpoint: JsonObject): JsonObject {
  const { topology: _, ...own } = omitMembers(endpoint, ["zone", "deprecatedTopology"]);
  const topology = objectAt(endpoint, "topology");
  const zone = topology[ZONE_LABEL];
  const isHostnameRedundant = topology[HOSTNAME_LABEL] === endpoint["nodeName"];
  const rest = omitMembers(topology, [ZONE_LABEL, ...(isHostnameRedundant ? [HOSTNAME_LABEL] : [])]);
  return {
    ...own,
    ...(zone !== undefined && { zone }),
    ...(Object.keys(rest).length > 0 && { deprecatedTopology: rest }),
  };
}

function joinTopology(endpoint: JsonObject): JsonObject {
  const { zone, deprecatedTopology: _, ...own } = omitMembers(endpoint, ["topology"]);
  const nodeName = endpoint["nodeName"];
  const topology = {
    ...(typeof nodeName === "string" && { [HOSTNAME_LABEL]: nodeName }),
    ...objectAt(endpoint, "deprecatedTopology"),
    ...(typeof zone === "string" && { [ZONE_LABEL]: zone }),
  };
  return Object.keys(topology).length === 0 ? own : { ...own, topology };
}
