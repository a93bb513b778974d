/** Estimates the cost of functions that return lists, and of functions that compare lists as sets. */
import { STRING_FACTOR } from "./actual.ts";
import { type CallNode, type Estimated, type EstimatedCall, nodeSize, type SizeOf } from "./call-node.ts";
import { add, COST_MAX, fixed, multiply, ONE, type Range, scale } from "./range.ts";

const CALL_AND_LIST = fixed(11);

function allocating(factor: number, size: Range): Estimated {
  return { cost: add(scale(size, factor), CALL_AND_LIST), size };
}

function literalOr(node: CallNode | undefined, otherwise: number): number {
  return typeof node?.literal === "bigint" ? Math.max(0, Number(node.literal)) : otherwise;
}

function selfCompared(node: CallNode, isText: boolean, sizeOf: SizeOf): Estimated {
  const size = nodeSize(node, sizeOf);
  return allocating(isText ? 2 + STRING_FACTOR : 2, multiply(size, size));
}

function sortedBy(id: string): boolean {
  return id.startsWith("list_string") || id.startsWith("list_bytes");
}

/** The estimate for the `sets` functions, which compare every element of one list with every element of the other. */
function crossed(id: string, [left, right]: readonly CallNode[], sizeOf: SizeOf): Estimated | undefined {
  const isSets = /^list_sets_(contains|intersects|equivalent)_list$/.exec(id);
  if (isSets === null || left === undefined || right === undefined) return undefined;
  const cost = scale(multiply(nodeSize(left, sizeOf), nodeSize(right, sizeOf)), isSets[1] === "equivalent" ? 2 : 1);
  return { cost: add(cost, ONE), size: undefined };
}

/** The estimate for a function that returns a list or compares lists as sets; undefined for all other functions. */
export function listEstimate({ id, target, args }: EstimatedCall, sizeOf: SizeOf): Estimated | undefined {
  const [first, second] = args;
  if (id === "lists_range") return allocating(1, fixed(literalOr(first, COST_MAX)));
  if (target === undefined) return crossed(id, args, sizeOf);
  const size = nodeSize(target, sizeOf);
  switch (id) {
    case "list_slice": {
      const length = literalOr(second, size.max) - literalOr(first, 0);
      return allocating(1, fixed(length < 0 ? COST_MAX : length));
    }
    case "list_flatten":
      return allocating(1, size);
    case "list_flatten_int":
      return allocating(literalOr(first, COST_MAX), size);
    case "list_reverse":
      return allocating(1, size);
    case "list_distinct":
      return selfCompared(target, false, sizeOf);
    default:
  }
  if (id.endsWith("_sort")) return selfCompared(target, sortedBy(id), sizeOf);
  if (id.endsWith("_sortByAssociatedKeys") && first !== undefined) return selfCompared(first, sortedBy(id), sizeOf);
  return undefined;
}
