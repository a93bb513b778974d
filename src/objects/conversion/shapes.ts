/**
 * Declares how the versions of a kind are converted: versions with the same fields share a shape, and each shape is
 * converted to and from the hub shape.
 */
import type { JsonObject } from "../../meta/json.ts";

/** Converts an object from one shape to another. Leaves its apiVersion, and never modifies its argument. */
type Reshape = (object: JsonObject) => JsonObject;

/** The versions that share a shape other than the hub shape, and the conversions between the two shapes. */
export interface Spoke {
  /** Values of apiVersion. */
  readonly versions: readonly string[];
  readonly toHub: Reshape;
  readonly fromHub: Reshape;
}

/** Versions of some kinds that can be converted to each other. Every conversion goes through the hub shape. */
export interface KindShapes {
  readonly kinds: readonly string[];
  /** Values of apiVersion: the versions that have the hub shape. */
  readonly hub: readonly string[];
  readonly spokes: readonly Spoke[];
}
