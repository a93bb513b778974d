/** Types that describe a call to the cost estimation. */
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";
import { type Range, UNKNOWN } from "./range.ts";

/**
 * The declared size of the value at a path, which consists of a variable, then fields, `@items`, `@values` and `@keys`.
 */
export type SizeOf = (path: readonly string[]) => Range | undefined;

/** The receiver or an argument of a call. */
export interface CallNode {
  readonly path: readonly string[];
  readonly type: Type;
  /** The size that the expression itself determines, as for a literal; undefined if it determines none. */
  readonly size: Range | undefined;
  readonly literal: Value | undefined;
}

export interface EstimatedCall {
  readonly name: string;
  readonly id: string;
  readonly target: CallNode | undefined;
  readonly args: readonly CallNode[];
}

export interface Estimated {
  readonly cost: Range;
  /** Size of the result. */
  readonly size: Range | undefined;
}

/** The size that the expression determines, otherwise the declared size, otherwise an unknown size. */
export function nodeSize(node: CallNode, sizeOf: SizeOf): Range {
  return node.size ?? (node.path.length === 0 ? undefined : sizeOf(node.path)) ?? UNKNOWN;
}
