/** The dependencies of `attempt`, which examines one object. */
import type { Counter } from "../../../base/metrics.ts";
import type { GraphNode, GraphResource, OwnerGraph } from "./graph.ts";
import type { InvalidOwnerReports } from "./invalid-owner-reports.ts";
import type { LiveObjects, LiveObjectPlace } from "./live-objects.ts";
import type { OwnerLookup } from "./owner-lookup.ts";

export interface AttemptContext {
  readonly graph: OwnerGraph;
  readonly objects: LiveObjects;
  readonly owners: OwnerLookup;
  readonly reports: InvalidOwnerReports;
  readonly enqueue: (uid: string) => void;
  /** Why the graph may lack objects in this namespace ("" means anywhere); undefined if it is complete. */
  readonly unseen: (namespace: string) => string | undefined;
  /** The watched resources that may have objects in this namespace ("" means anywhere). */
  readonly followed: (namespace: string) => readonly GraphResource[];
  readonly deleted: Counter;
  readonly orphaned: Counter;
}

export type SeenNode = GraphNode & { readonly resource: NonNullable<GraphNode["resource"]> };

export function placeOf({ resource, namespace, name }: SeenNode): LiveObjectPlace {
  return { resource, namespace, name };
}

export function isSeen(node: GraphNode): node is SeenNode {
  return node.resource !== undefined;
}
