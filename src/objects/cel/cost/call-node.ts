/** What is known of calls before they happen. */
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";
import { type Range, UNKNOWN } from "./range.ts";

/** How large the value at a path can be: a variable, then fields, `@items`, `@values` and `@keys`. */
export type SizeOf = (path: readonly string[]) => Range | undefined;

/** What is known of the receiver or an argument. */
export interface CallNode {
  readonly path: readonly string[];
  readonly type: Type;
  /** Undefined when it follows from nothing in the expression. */
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
  /** Of the result. */
  readonly size: Range | undefined;
}

/** Told, declared, or anything. */
export function nodeSize(node: CallNode, sizeOf: SizeOf): Range {
  return node.size ?? (node.path.length === 0 ? undefined : sizeOf(node.path)) ?? UNKNOWN;
}
