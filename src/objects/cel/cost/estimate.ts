/** Estimates the maximum cost of an expression from the declared sizes of its values. */
import type { Checked } from "../check/checker.ts";
import type { Call, Comprehension, Expression, ListLiteral, MapLiteral, Select } from "../syntax/expression.ts";
import { DYN, optionalContent, type Type } from "../types/type.ts";
import { stringSize } from "../values/order.ts";
import { callEstimate } from "./call-estimate.ts";
import type { CallNode, Estimated, SizeOf } from "./call-node.ts";
import { add, addAll, COST_MAX, fixed, multiply, ONE, type Range, union, UNKNOWN, ZERO } from "./range.ts";

const LIST_BASE = fixed(10);
const MAP_BASE = fixed(30);
const STRUCT_BASE = fixed(40);

/** Size ranges of the elements of a list or the entries of a map. */
interface EntrySize {
  readonly isList: boolean;
  readonly key: Range;
  readonly value: Range;
}

interface LocalVariable {
  readonly path: readonly string[];
  readonly size: Range | undefined;
  readonly entry: EntrySize | undefined;
}

function unionEntries(left: EntrySize | undefined, right: EntrySize | undefined): EntrySize | undefined {
  if (left === undefined || right === undefined) return undefined;
  return { isList: left.isList, key: union(left.key, right.key), value: union(left.value, right.value) };
}

function isScalar(type: Type): boolean {
  const content = optionalContent(type);
  if (content !== undefined) return isScalar(content);
  return ["bool", "double", "duration", "int", "timestamp", "uint"].includes(type.kind);
}

function literalSize(expression: Expression): Range | undefined {
  switch (expression.kind) {
    case "list":
      return fixed(expression.elements.length);
    case "map":
      return fixed(expression.entries.length);
    case "literal":
      if (typeof expression.value === "string") return fixed(stringSize(expression.value));
      return fixed(expression.value instanceof Uint8Array ? expression.value.length : 1);
    default:
      return undefined;
  }
}

const NOTHING_YET: Range = { min: COST_MAX, max: 0 };

class Estimator {
  readonly #checked: Checked;
  readonly #sizeOf: SizeOf;
  readonly #costs = new Map<Expression, Range>();
  readonly #paths = new Map<Expression, readonly string[]>();
  readonly #sizes = new Map<Expression, Range>();
  readonly #entries = new Map<Expression, EntrySize>();
  readonly #locals = new Map<string, LocalVariable[]>();

  constructor(checked: Checked, sizeOf: SizeOf) {
    this.#checked = checked;
    this.#sizeOf = sizeOf;
  }

  /** Memoized, because the expansion of a macro can contain the same subexpression twice. */
  cost(expression: Expression): Range {
    const known = this.#costs.get(expression);
    if (known !== undefined) return known;
    const cost = this.#costOf(expression);
    this.#costs.set(expression, cost);
    return cost;
  }

  #costOf(expression: Expression): Range {
    switch (expression.kind) {
      case "literal":
        return ZERO;
      case "ident":
        this.#paths.set(expression, this.#local(expression.name)?.path ?? [expression.name]);
        return ONE;
      case "select":
        return this.#select(expression);
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression);
      case "map":
        return this.#map(expression);
      case "struct":
        return add(addAll(expression.fields.map(({ value }) => this.cost(value))), STRUCT_BASE);
      default:
        return this.#isBinding(expression) ? this.#binding(expression) : this.#loop(expression);
    }
  }

  #typeOf(expression: Expression): Type {
    return this.#checked.types.get(expression) ?? DYN;
  }

  #local(name: string): LocalVariable | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #push(name: string, variable: LocalVariable): void {
    const stack = this.#locals.get(name);
    if (stack === undefined) this.#locals.set(name, [variable]);
    else stack.push(variable);
  }

  #pop(name: string): void {
    this.#locals.get(name)?.pop();
  }

  #path(expression: Expression): readonly string[] {
    const local = expression.kind === "ident" ? this.#local(expression.name) : undefined;
    return local?.path ?? this.#paths.get(expression) ?? [];
  }

  #size(expression: Expression): Range | undefined {
    const known = this.#sizes.get(expression) ?? literalSize(expression);
    if (known !== undefined) return known;
    const path = this.#path(expression);
    const declared = path.length === 0 ? undefined : this.#sizeOf(path);
    if (declared !== undefined) {
      this.#sizes.set(expression, declared);
      return declared;
    }
    if (isScalar(this.#typeOf(expression))) return ONE;
    return expression.kind === "ident" ? this.#local(expression.name)?.size : undefined;
  }

  #entry(expression: Expression): EntrySize | undefined {
    const known = this.#entries.get(expression);
    if (known !== undefined || expression.kind !== "ident") return known;
    return this.#local(expression.name)?.entry;
  }

  #setEntry(expression: Expression, entry: EntrySize | undefined): void {
    if (entry !== undefined) this.#entries.set(expression, entry);
  }

  #setSize(expression: Expression, size: Range | undefined): void {
    if (size !== undefined) this.#sizes.set(expression, size);
  }

  #select(select: Select): Range {
    const reference = this.#checked.references.get(select);
    if (reference !== undefined && reference.kind !== "struct") {
      this.#paths.set(select, [reference.kind === "type" ? reference.type.name : reference.name]);
      return ONE;
    }
    const operand = this.cost(select.operand);
    if (select.isTest) return operand;
    this.#paths.set(select, [...this.#path(select.operand), select.field]);
    const { kind } = this.#typeOf(select.operand);
    return kind === "map" || kind === "struct" ? add(operand, ONE) : operand;
  }

  #node(expression: Expression): CallNode {
    const path = this.#path(expression);
    return {
      path: path[0]?.startsWith("@") === true ? [] : path,
      type: this.#typeOf(expression),
      size: this.#size(expression),
      literal: expression.kind === "literal" ? expression.value : undefined,
    };
  }

  #call(call: Call): Range {
    const reference = this.#checked.references.get(call);
    if (call.name === "dyn" && call.target === undefined) return this.#dyn(call);
    const costs = call.args.map((arg) => this.cost(arg));
    const nodes = call.args.map((arg) => this.#node(arg));
    if (reference?.kind !== "call") return ZERO;
    const target = reference.isMember ? call.target : undefined;
    const targetCost = target === undefined ? ZERO : this.cost(target);
    const targetNode = target === undefined ? undefined : this.#node(target);
    let cost = NOTHING_YET;
    let size: Range | undefined;
    for (const { id } of reference.overloads) {
      const estimated = this.#overload(call, { name: reference.name, id, target: targetNode, args: nodes }, costs);
      cost = union(cost, estimated.cost);
      if (estimated.size !== undefined) size = size === undefined ? estimated.size : union(size, estimated.size);
      size = this.#indexed(call, id, size) ?? this.#size(call);
    }
    this.#setSize(call, size);
    return add(targetCost, cost);
  }

  /**
   * Records the path of an index expression: that of the list or map, followed by `@items` or `@values`. Returns the
   * size of the selected value.
   */
  #indexed(call: Call, id: string, size: Range | undefined): Range | undefined {
    const step = id === "index_list" ? "@items" : "@values";
    const [container] = call.args;
    if ((id !== "index_list" && id !== "index_map") || container === undefined) return size;
    this.#paths.set(call, [...this.#path(container), step]);
    return this.#entry(container)?.value;
  }

  #overload(
    call: Call,
    node: { name: string; id: string; target: CallNode | undefined; args: readonly CallNode[] },
    costs: readonly Range[],
  ): Estimated {
    const own = callEstimate(node, this.#sizeOf);
    if (own !== undefined) return { cost: add(own.cost, addAll(costs)), size: own.size };
    const [first = ZERO, second = ZERO, third = ZERO] = costs;
    const [a, b, c] = call.args;
    switch (node.id) {
      case "logical_or":
      case "logical_and":
        return { cost: { min: first.min, max: add(first, second).max }, size: undefined };
      case "conditional":
        this.#setEntry(call, unionEntries(this.#entryOf(b), this.#entryOf(c)));
        return { cost: add(first, union(second, third)), size: union(this.#known(b), this.#known(c)) };
      case "add_list":
        this.#setEntry(call, unionEntries(this.#entryOf(a), this.#entryOf(b)));
        return { cost: add(ONE, addAll(costs)), size: add(this.#known(a), this.#known(b)) };
      default:
        return { cost: add(ONE, addAll(costs)), size: undefined };
    }
  }

  #entryOf(expression: Expression | undefined): EntrySize | undefined {
    return expression === undefined ? undefined : this.#entry(expression);
  }

  #known(expression: Expression | undefined): Range {
    return (expression === undefined ? undefined : this.#size(expression)) ?? UNKNOWN;
  }

  #dyn(call: Call): Range {
    const [arg] = call.args;
    if (arg === undefined) return ZERO;
    const cost = this.cost(arg);
    this.#setSize(call, this.#size(arg));
    this.#setEntry(call, this.#entry(arg));
    return add(ONE, cost);
  }

  #list(list: ListLiteral): Range {
    let cost = ZERO;
    let value = list.elements.length === 0 ? ZERO : NOTHING_YET;
    for (const element of list.elements) {
      cost = add(cost, this.cost(element));
      value = union(value, this.#known(element));
    }
    this.#setEntry(list, { isList: true, key: ONE, value });
    return add(cost, LIST_BASE);
  }

  #map(map: MapLiteral): Range {
    let cost = ZERO;
    let [keys, values] = map.entries.length === 0 ? [ZERO, ZERO] : [NOTHING_YET, NOTHING_YET];
    for (const { key, value } of map.entries) {
      cost = add(add(cost, this.cost(key)), this.cost(value));
      keys = union(keys, this.#known(key));
      values = union(values, this.#known(value));
    }
    this.#setEntry(map, { isList: false, key: keys, value: values });
    return add(cost, MAP_BASE);
  }

  #isBinding({ range, condition }: Comprehension): boolean {
    const isEmpty = range.kind === "list" && range.elements.length === 0;
    return isEmpty && condition.kind === "literal" && condition.value === false;
  }

  #binding(comprehension: Comprehension): Range {
    const cost = add(this.cost(comprehension.range), this.cost(comprehension.initial));
    this.#pushAccumulator(comprehension);
    const result = this.cost(comprehension.result);
    this.#pop(comprehension.accumulator);
    this.#setSize(comprehension, this.#size(comprehension.result));
    this.#setEntry(comprehension, this.#entry(comprehension.result));
    return add(cost, result);
  }

  #pushAccumulator({ accumulator, initial }: Comprehension): void {
    this.#push(accumulator, { path: this.#path(initial), size: this.#size(initial), entry: this.#entry(initial) });
  }

  #pushVariables({ range, variable, secondVariable }: Comprehension): void {
    const entry = this.#entry(range);
    const isList = entry?.isList ?? this.#typeOf(range).kind === "list";
    const path = this.#path(range);
    const values: LocalVariable = {
      path: [...path, isList ? "@items" : "@values"],
      size: entry?.value,
      entry: undefined,
    };
    const keys: LocalVariable = { path: [...path, isList ? "@indices" : "@keys"], size: entry?.key, entry: undefined };
    if (secondVariable === undefined) this.#push(variable, isList ? values : keys);
    else {
      this.#push(variable, keys);
      this.#push(secondVariable, values);
    }
  }

  #loop(comprehension: Comprehension): Range {
    const { range, initial, condition, step, result } = comprehension;
    const before = add(this.cost(range), this.cost(initial));
    this.#pushAccumulator(comprehension);
    this.#pushVariables(comprehension);
    const iteration = add(this.cost(condition), this.cost(step));
    this.#pop(comprehension.variable);
    if (comprehension.secondVariable !== undefined) this.#pop(comprehension.secondVariable);
    const after = this.cost(result);
    this.#pop(comprehension.accumulator);
    const count = this.#known(range);
    if (initial.kind === "literal") this.#setSize(comprehension, this.#size(initial));
    else if (initial.kind === "list" || initial.kind === "map") {
      this.#setSize(comprehension, count);
      this.#setEntry(comprehension, this.#entry(step));
    }
    return add(add(before, after), multiply(count, iteration));
  }
}

/** The maximum of the estimated cost. */
export function estimateCost(checked: Checked, sizeOf: SizeOf): number {
  return new Estimator(checked, sizeOf).cost(checked.expression).max;
}
