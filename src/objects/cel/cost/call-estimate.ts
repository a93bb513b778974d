/** Estimates the cost of function calls from the possible sizes of their arguments. */
import { CHECK_COST, REGEX_FACTOR, selectorCost, STRING_FACTOR } from "./actual.ts";
import { type CallNode, type Estimated, type EstimatedCall, nodeSize, type SizeOf } from "./call-node.ts";
import { listEstimate } from "./list-estimate.ts";
import { add, COST_MAX, fixed, multiply, ONE, type Range, scale, UNKNOWN } from "./range.ts";

type Estimate = (call: EstimatedCall, sizeOf: SizeOf) => Estimated | undefined;

const FORMAT_NAME_MAX = 64;
const FORMAT_PATTERN_MAX = 128;
const ADDRESS_BYTES: Range = { min: 4, max: 16 };

function costOnly(cost: Range): Estimated {
  return { cost, size: undefined };
}

const nominal: Estimate = () => costOnly(ONE);

function elementNode(list: CallNode): CallNode | undefined {
  const [type] = list.type.parameters;
  if (type === undefined) return undefined;
  return { path: list.path.length === 0 ? [] : [...list.path, "@items"], type, size: undefined, literal: undefined };
}

const compared: Estimate = ({ target }, sizeOf) => {
  if (target === undefined) return undefined;
  const size = nodeSize(target, sizeOf);
  const element = elementNode(target);
  if (element === undefined) return costOnly(scale(size, STRING_FACTOR));
  const isText = element.type.kind === "string" || element.type.kind === "bytes";
  const perElement = isText ? add(ONE, scale(nodeSize(element, sizeOf), STRING_FACTOR)) : ONE;
  return costOnly(multiply(size, perElement));
};

const argumentRead: Estimate = ({ args }, sizeOf) => {
  const [arg] = args;
  return arg === undefined ? undefined : costOnly(scale(nodeSize(arg, sizeOf), STRING_FACTOR));
};

const receiverCopied: Estimate = ({ target }, sizeOf) => {
  if (target === undefined) return undefined;
  const size = nodeSize(target, sizeOf);
  return { cost: scale(size, STRING_FACTOR), size };
};

/**
 * The possible size of the result of replace(). It is longest if the shortest `from` is replaced by the longest `to`,
 * and shortest in the opposite case.
 */
function replacedSize(size: Range, from: Range, to: Range): Range {
  let max: number;
  if (from.min === 0) max = (size.max < COST_MAX ? size.max + 1 : size.max) * to.max + size.max;
  else if (to.max <= from.min) max = size.max;
  else max = Math.ceil(size.max / from.min) * to.max;
  let min: number;
  if (from.max === 0) min = (size.min + 1) * to.min + size.min;
  else if (from.max <= to.min) min = size.min;
  else min = Math.ceil(size.min / from.max) * to.min;
  return { min: Math.min(min, COST_MAX), max: Math.min(max, COST_MAX) };
}

const replace: Estimate = ({ target, args }, sizeOf) => {
  const [from, to] = args;
  if (target === undefined || from === undefined || to === undefined) return undefined;
  const size = nodeSize(target, sizeOf);
  const result = replacedSize(size, nodeSize(from, sizeOf), nodeSize(to, sizeOf));
  return { cost: scale(size, 2 * STRING_FACTOR), size: result };
};

const split: Estimate = ({ target, args }, sizeOf) => {
  if (target === undefined) return undefined;
  const size = nodeSize(target, sizeOf);
  const limit = args[1]?.literal;
  const max = typeof limit === "bigint" ? (limit < 0n ? COST_MAX : Number(limit)) : size.max;
  return { cost: scale(size, 2 * STRING_FACTOR), size: { min: 0, max } };
};

const join: Estimate = ({ target, args }, sizeOf) => {
  if (target === undefined) return undefined;
  const count = nodeSize(target, sizeOf);
  const element = elementNode(target);
  let size = element === undefined ? fixed(0) : multiply(count, nodeSize(element, sizeOf));
  const [separator] = args;
  if (separator !== undefined) {
    const between = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
    size = add(size, multiply(nodeSize(separator, sizeOf), between));
  }
  return { cost: scale(size, STRING_FACTOR), size };
};

function matchCost(text: Range, pattern: Range): Range {
  return multiply(scale(add(text, ONE), STRING_FACTOR), scale(pattern, REGEX_FACTOR));
}

const find: Estimate = ({ target, args }, sizeOf) => {
  const [pattern] = args;
  if (target === undefined || pattern === undefined) return undefined;
  const size = nodeSize(target, sizeOf);
  return { cost: matchCost(size, nodeSize(pattern, sizeOf)), size: { min: 0, max: size.max } };
};

const validate: Estimate = ({ args }, sizeOf) => {
  const [text] = args;
  if (text === undefined) return undefined;
  return costOnly(scale(scale(nodeSize(text, sizeOf), STRING_FACTOR), FORMAT_PATTERN_MAX * REGEX_FACTOR));
};

function contains(isNetwork: boolean): Estimate {
  return ({ id, args }, sizeOf) => {
    const [other] = args;
    if (other === undefined) return undefined;
    let cost = scale(add(ADDRESS_BYTES, ADDRESS_BYTES), STRING_FACTOR);
    if (isNetwork) cost = add(add(cost, scale(ADDRESS_BYTES, STRING_FACTOR)), ONE);
    if (id === "cidr_contains_ip_string" || id === "cidr_contains_cidr_string")
      cost = add(cost, scale(nodeSize(other, sizeOf), STRING_FACTOR));
    return costOnly(cost);
  };
}

/**
 * The cost of comparing two values of a type that the Kubernetes libraries add: one, except for named formats and URLs,
 * whose cost depends on their length.
 */
const kubernetesEquality: Estimate = ({ args }) => {
  const [left, right] = args;
  if (left === undefined || right === undefined || left.type.name !== right.type.name) return undefined;
  switch (left.type.name) {
    case "net.IP":
    case "net.CIDR":
    case "kubernetes.Quantity":
    case "kubernetes.Semver":
    case "kubernetes.authorization.Authorizer":
    case "kubernetes.authorization.PathCheck":
    case "kubernetes.authorization.GroupCheck":
    case "kubernetes.authorization.ResourceCheck":
    case "kubernetes.authorization.Decision":
      return costOnly(ONE);
    case "kubernetes.NamedFormat":
      return costOnly(scale({ min: 1, max: FORMAT_NAME_MAX }, STRING_FACTOR));
    case "kubernetes.URL":
      return costOnly(scale({ min: 1, max: (right.size ?? ONE).max }, STRING_FACTOR));
    default:
      return undefined;
  }
};

const url: Estimate = ({ args }, sizeOf) => {
  const [arg] = args;
  if (arg === undefined) return undefined;
  const size = nodeSize(arg, sizeOf);
  return { cost: scale(size, STRING_FACTOR), size };
};

const address: Estimate = (call, sizeOf) => (call.id === "cidr_ip" ? costOnly(ONE) : argumentRead(call, sizeOf));

const selector: Estimate = ({ args }, sizeOf) => {
  const [arg] = args;
  if (arg === undefined) return undefined;
  const { min, max } = nodeSize(arg, sizeOf);
  return costOnly({ min: selectorCost(min), max: Math.min(selectorCost(max), COST_MAX) });
};

const canonical: Estimate = ({ args }, sizeOf) => {
  const [arg] = args;
  return arg === undefined ? undefined : costOnly(scale(nodeSize(arg, sizeOf), 2 * STRING_FACTOR));
};

function each(names: string, estimate: Estimate): [string, Estimate][] {
  return names.split(" ").map((name) => [name, estimate]);
}

const BY_FUNCTION: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ...each("isSorted sum max min indexOf lastIndexOf", compared),
  ...each("lowerAscii upperAscii substring trim", receiverCopied),
  ...each("cidr isIP isCIDR quantity isQuantity semver isSemver", argumentRead),
  ...each("masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast", nominal),
  ...each("isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan", nominal),
  ...each("compareTo add sub major minor patch getScheme getHostname getHost getPort getEscapedPath getQuery", nominal),
  ["url", url],
  ["replace", replace],
  ["split", split],
  ["join", join],
  ...each("find findAll", find),
  ["ip", address],
  ["ip.isCanonical", canonical],
  ["containsIP", contains(false)],
  ["containsCIDR", contains(true)],
  ["validate", validate],
  ["check", () => costOnly(fixed(CHECK_COST))],
  ...each("fieldSelector labelSelector", selector),
  ["_==_", kubernetesEquality],
]);

function own(node: CallNode | undefined): Range {
  return node?.size ?? UNKNOWN;
}

const smaller: Estimate = ({ args }) => {
  const most = Math.min(own(args[0]).max, own(args[1]).max);
  return costOnly(scale({ min: most > 0 ? 1 : 0, max: most }, STRING_FACTOR));
};

const joined: Estimate = ({ args }) => {
  const size = add(own(args[0]), own(args[1]));
  return { cost: scale(size, STRING_FACTOR), size };
};

const BY_OVERLOAD: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ["string_format", ({ target }) => costOnly(scale(own(target), STRING_FACTOR))],
  [
    "string_to_bytes",
    ({ args: [text] }) => ({
      cost: scale(own(text), STRING_FACTOR),
      size: { min: own(text).min, max: Math.min(own(text).max * 4, COST_MAX) },
    }),
  ],
  [
    "bytes_to_string",
    ({ args: [bytes] }) => ({
      cost: scale(own(bytes), STRING_FACTOR),
      size: { min: Math.floor(own(bytes).min / 4), max: own(bytes).max },
    }),
  ],
  [
    "strings_quote",
    ({ args: [text] }) => ({
      cost: scale(own(text), STRING_FACTOR),
      size: { min: own(text).min + 2, max: Math.min(own(text).max * 2 + 2, COST_MAX) },
    }),
  ],
  ...each("starts_with_string ends_with_string", ({ args: [part] }) => costOnly(scale(own(part), STRING_FACTOR))),
  ["in_list", ({ args: [, list] }) => costOnly(own(list))],
  ["matches_string", ({ target, args: [pattern] }) => costOnly(matchCost(own(target), own(pattern)))],
  [
    "contains_string",
    ({ target, args: [part] }) =>
      costOnly(multiply(scale(own(target), STRING_FACTOR), scale(own(part), STRING_FACTOR))),
  ],
  ...each("add_string add_bytes", joined),
  ...["less", "greater", "less_equals", "greater_equals"].flatMap((name) =>
    each(`${name}_string ${name}_bytes`, smaller),
  ),
  ...each("equals not_equals", smaller),
]);

/**
 * The estimated cost and result size of a call; undefined for operators that the estimator handles itself, and for
 * calls that cost one and whose result has no size.
 */
export function callEstimate(call: EstimatedCall, sizeOf: SizeOf): Estimated | undefined {
  return (
    listEstimate(call, sizeOf) ?? BY_FUNCTION.get(call.name)?.(call, sizeOf) ?? BY_OVERLOAD.get(call.id)?.(call, sizeOf)
  );
}
