import type { JsonObject } from "../../meta/json.ts";

/** Changes the shape only: apiVersion is not its business. Never modifies its argument. */
type Reshape = (object: JsonObject) => JsonObject;

/** Versions of one shape, and the way from and to the hub shape. */
export interface Spoke {
  /** As apiVersion says them. */
  readonly versions: readonly string[];
  readonly toHub: Reshape;
  readonly fromHub: Reshape;
}

/** All versions of some kinds that convert into each other. */
export interface KindShapes {
  readonly kinds: readonly string[];
  /** The versions of the hub shape. */
  readonly hub: readonly string[];
  readonly spokes: readonly Spoke[];
}
