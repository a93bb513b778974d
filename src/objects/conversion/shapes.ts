import type { JsonObject } from "../../meta/json.ts";

/** Changes the shape but not the apiVersion. Never modifies its argument. */
type Reshape = (object: JsonObject) => JsonObject;

/** Versions of one shape, and the conversions from and to the hub shape. */
export interface Spoke {
  /** In the form of apiVersion. */
  readonly versions: readonly string[];
  readonly toHub: Reshape;
  readonly fromHub: Reshape;
}

/** All versions of some kinds that can be converted to each other. */
export interface KindShapes {
  readonly kinds: readonly string[];
  /** The versions of the hub shape. */
  readonly hub: readonly string[];
  readonly spokes: readonly Spoke[];
}
