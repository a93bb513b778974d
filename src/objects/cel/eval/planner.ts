/** Compiles a checked expression to functions that evaluate it and count its cost. */
import type { Checked, Reference } from "../check/checker.ts";
import { actualCost } from "../cost/actual.ts";
import type { Overload } from "../library/function.ts";
import { compilePattern } from "../library/regex.ts";
import type { Call, Expression, ListLiteral, MapLiteral, Select, StructLiteral } from "../syntax/expression.ts";
import { LiteralMap } from "../values/literal-map.ts";
import {
  ArrayList,
  EvalError,
  equals,
  NO_SUCH_OVERLOAD,
  OptionalValue,
  TypeValue,
  type Value,
} from "../values/value.ts";
import { type Attribute, attributeEvaluate, fieldsOfSlot, mapKeyText, resolve } from "./attributes.ts";
import { invokerOf } from "./dispatch.ts";
import type { Evaluate, Frame } from "./frame.ts";
import { logicalAnd, logicalOr, membershipOf } from "./logic.ts";
import { planLoop } from "./loops.ts";

/** The plan of a subexpression: a constant, an attribute or a computation. */
export interface Plan {
  readonly evaluate: Evaluate;
  readonly constant?: { readonly value: Value };
  readonly attribute?: Attribute;
}

/** A constant subexpression cannot be evaluated, such as `int('x')`. */
export class PlanError extends Error {
  override readonly name = "PlanError";
}

const LIST_COST = 10;
const MAP_COST = 30;
const STRUCT_COST = 40;

const CONVERSIONS: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
);

function constantPlan(value: Value): Plan {
  return { evaluate: () => value, constant: { value } };
}

function attributePlan(attribute: Attribute): Plan {
  return { evaluate: attributeEvaluate(attribute), attribute };
}

function asAttribute(plan: Plan): Attribute {
  return plan.attribute ?? { base: plan.evaluate, qualifiers: [], isConditional: false };
}

export class Planner {
  readonly #checked: Checked;
  readonly #plans = new Map<Expression, Plan>();
  readonly #slots: Map<string, number>;
  slotCount: number;

  constructor(checked: Checked, variables: readonly string[]) {
    this.#checked = checked;
    this.#slots = new Map(variables.map((name, index) => [name, index]));
    this.slotCount = variables.length;
  }

  plan(expression: Expression): Plan {
    const known = this.#plans.get(expression);
    if (known !== undefined) return known;
    const plan = this.#planOf(expression);
    this.#plans.set(expression, plan);
    return plan;
  }

  /** Plans `inside` with an additional variable. */
  withVariable<T>(name: string, inside: (slot: number) => T): T {
    const before = this.#slots.get(name);
    const slot = this.slotCount++;
    this.#slots.set(name, slot);
    const result = inside(slot);
    if (before === undefined) this.#slots.delete(name);
    else this.#slots.set(name, before);
    return result;
  }

  #planOf(expression: Expression): Plan {
    switch (expression.kind) {
      case "literal":
        return constantPlan(expression.value);
      case "ident":
        return this.#name(expression);
      case "select":
        return this.#select(expression);
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression);
      case "map":
        return this.#map(expression);
      case "comprehension":
        return { evaluate: planLoop(this, expression) };
      default:
        return this.#struct(expression);
    }
  }

  #name(expression: Expression): Plan {
    const reference = this.#checked.references.get(expression);
    if (reference?.kind === "type") return constantPlan(new TypeValue(reference.type.name));
    const slot = this.#slots.get(reference?.kind === "variable" ? reference.name : "") ?? 0;
    const attribute: Attribute = { base: slotBase(slot), qualifiers: [], isConditional: false };
    return { evaluate: fieldsOfSlot(slot, []), attribute };
  }

  #select(select: Select): Plan {
    if (this.#checked.references.has(select)) return this.#name(select);
    const operand = this.plan(select.operand);
    const attribute = asAttribute(operand);
    const key = (): Value => select.field;
    const qualifiers = [...attribute.qualifiers, { key, isOptional: false, isTest: select.isTest }];
    const plan = attributePlan({ ...attribute, qualifiers });
    const path = select.isTest ? undefined : this.#fieldPath(select);
    return path === undefined ? plan : { ...plan, evaluate: fieldsOfSlot(path.slot, path.fields) };
  }

  /** The variable and the fields of a plain `variable.field.field`; undefined for any other expression. */
  #fieldPath(select: Select): { readonly slot: number; readonly fields: readonly string[] } | undefined {
    const fields: string[] = [];
    let at: Expression = select;
    for (; at.kind === "select" && !at.isTest && !this.#checked.references.has(at); at = at.operand)
      fields.unshift(at.field);
    const reference = this.#checked.references.get(at);
    if (reference?.kind !== "variable") return undefined;
    return { slot: this.#slots.get(reference.name) ?? 0, fields };
  }

  #call(call: Call): Plan {
    const args = (call.target !== undefined && this.#isMember(call) ? [call.target, ...call.args] : call.args).map(
      (arg) => this.plan(arg),
    );
    switch (call.name) {
      case "_&&_":
        return { evaluate: logicalAnd(args.map(({ evaluate }) => evaluate)) };
      case "_||_":
        return { evaluate: logicalOr(args.map(({ evaluate }) => evaluate)) };
      case "_?_:_":
        return this.#conditional(args);
      case "_[_]":
      case "_[?_]":
      case "_?._":
        return this.#index(args, call.name !== "_[_]");
      case "@not_strictly_false":
        return { evaluate: notStrictlyFalse(args) };
      default:
        return this.#function(call, args);
    }
  }

  #isMember(call: Call): boolean {
    const reference = this.#checked.references.get(call);
    return reference?.kind === "call" && reference.isMember;
  }

  #conditional(args: readonly Plan[]): Plan {
    const [condition, yes, no] = args as [Plan, Plan, Plan];
    const branch = ({ attribute, evaluate }: Plan): Evaluate =>
      attribute === undefined ? evaluate : (frame) => resolve(attribute, frame);
    const whenTrue = branch(yes);
    const whenFalse = branch(no);
    const base: Evaluate = (frame) => {
      const value = condition.evaluate(frame);
      if (value === true) return whenTrue(frame);
      if (value === false) return whenFalse(frame);
      return value instanceof EvalError ? value : NO_SUCH_OVERLOAD;
    };
    return attributePlan({ base, qualifiers: [], isConditional: true });
  }

  #index(args: readonly Plan[], isOptional: boolean): Plan {
    const [operand, index] = args as [Plan, Plan];
    const attribute = asAttribute(operand);
    const path = index.attribute;
    const key: Evaluate = path === undefined ? index.evaluate : (frame) => resolve(path, frame);
    return attributePlan({
      ...attribute,
      qualifiers: [...attribute.qualifiers, { key, isOptional, isTest: false }],
    });
  }

  #function(call: Call, args: readonly Plan[]): Plan {
    const reference = this.#checked.references.get(call);
    if (reference?.kind !== "call") throw new PlanError(`no such overload: ${call.name}`);
    const { name, overloads } = reference;
    if (name === "or" || name === "orValue") return { evaluate: optionalOr(args, name === "orValue") };
    const [first, second] = args;
    if (singleId(reference) === "in_list" && first !== undefined && second?.constant !== undefined) {
      const membership = membershipOf(first.evaluate, second.constant.value);
      if (membership === false) return constantPlan(false);
      if (membership !== undefined) return { evaluate: membership };
    }
    if (name === "find" || name === "findAll") checkPattern(second);
    const evaluate = callEvaluate(name, overloads, args);
    if (args.length !== 1 || !CONVERSIONS.has(name) || first?.constant === undefined) return { evaluate };
    const value = invokerOf(name, overloads)([first.constant.value]);
    if (value instanceof EvalError) throw new PlanError(value.message);
    return constantPlan(value);
  }

  #list(list: ListLiteral): Plan {
    const elements = list.elements.map((element) => this.plan(element));
    if (list.optional.size === 0 && elements.every(({ constant }) => constant !== undefined))
      return constantPlan(new ArrayList(elements.map(({ constant }) => constant?.value ?? null)));
    const evaluate: Evaluate = (frame) => {
      const values: Value[] = [];
      for (const [index, element] of elements.entries()) {
        const value = element.evaluate(frame);
        if (value instanceof EvalError) return value;
        if (!list.optional.has(index)) values.push(value);
        else if (!(value instanceof OptionalValue)) return NO_SUCH_OVERLOAD;
        else if (value.value !== undefined) values.push(value.value);
      }
      frame.charge(LIST_COST);
      return new ArrayList(values);
    };
    return { evaluate };
  }

  #struct(struct: StructLiteral): Plan {
    const reference = this.#checked.references.get(struct);
    if (reference?.kind !== "struct") throw new PlanError(`unknown type: ${struct.name}`);
    const { make } = reference.factory;
    const fields = struct.fields.map((field) => ({ ...field, plan: this.plan(field.value) }));
    const evaluate: Evaluate = (frame) => {
      const values = new Map<string, Value>();
      for (const { name, plan, isOptional } of fields) {
        const value = plan.evaluate(frame);
        if (value instanceof EvalError) return value;
        if (!isOptional) values.set(name, value);
        else if (!(value instanceof OptionalValue)) return NO_SUCH_OVERLOAD;
        else if (value.value !== undefined) values.set(name, value.value);
      }
      frame.charge(STRUCT_COST);
      return make(values);
    };
    return { evaluate };
  }

  #map(map: MapLiteral): Plan {
    const entries = map.entries.map(({ key, value, isOptional }) => ({
      key: this.plan(key),
      value: this.plan(value),
      isOptional,
    }));
    const build = (frame: Frame): Value => {
      const result = new LiteralMap();
      for (const { key, value, isOptional } of entries) {
        const keyValue = key.evaluate(frame);
        if (keyValue instanceof EvalError) return keyValue;
        const entryValue = value.evaluate(frame);
        if (entryValue instanceof EvalError) return entryValue;
        const content = isOptional && entryValue instanceof OptionalValue ? entryValue.value : entryValue;
        if (content === undefined) continue;
        if (!result.set(keyValue, content)) return new EvalError(`unsupported key type: ${mapKeyText(keyValue)}`);
      }
      return result;
    };
    const isConstant = entries.every(
      ({ key, value, isOptional }) => !isOptional && key.constant !== undefined && value.constant !== undefined,
    );
    if (isConstant) return constantPlan(build({} as Frame));
    return {
      evaluate: (frame) => {
        const value = build(frame);
        if (!(value instanceof EvalError)) frame.charge(MAP_COST);
        return value;
      },
    };
  }
}

function slotBase(slot: number): Evaluate {
  return (frame) => frame.slots[slot] ?? null;
}

function singleId(reference: Reference & { readonly kind: "call" }): string {
  return reference.overloads.length === 1 ? (reference.overloads[0]?.id ?? "") : "";
}

/**
 * Compiles a constant pattern before the evaluation, so that an invalid pattern is reported as an error of the
 * expression.
 */
function checkPattern(pattern: Plan | undefined): void {
  const text = pattern?.constant?.value;
  const compiled = typeof text === "string" ? compilePattern(text) : undefined;
  if (compiled instanceof EvalError) throw new PlanError(compiled.message);
}

function notStrictlyFalse(args: readonly Plan[]): Evaluate {
  const [arg] = args as [Plan];
  return (frame) => {
    const value = arg.evaluate(frame);
    frame.charge(1);
    return value !== false;
  };
}

function optionalOr(args: readonly Plan[], isValue: boolean): Evaluate {
  const [optional, other] = args as [Plan, Plan];
  return (frame) => {
    const value = optional.evaluate(frame);
    if (value instanceof EvalError) return value;
    if (!(value instanceof OptionalValue)) return NO_SUCH_OVERLOAD;
    if (value.value !== undefined) return isValue ? value.value : value;
    return other.evaluate(frame);
  };
}

/** Charges the cost before the call, so that a call beyond the limit does no work. */
function callEvaluate(name: string, overloads: readonly Overload[], args: readonly Plan[]): Evaluate {
  const cost = actualCost(name, overloads.length === 1 ? (overloads[0]?.id ?? "") : "");
  const [first, second] = args;
  if (name === "_==_" && first !== undefined && second !== undefined)
    return binaryEvaluate(first.evaluate, second.evaluate, cost, equals);
  const invoke = invokerOf(name, overloads);
  if (args.length === 2 && first !== undefined && second !== undefined)
    return binaryEvaluate(first.evaluate, second.evaluate, cost, (left, right) => invoke([left, right]));
  return (frame) => {
    const values: Value[] = [];
    for (const arg of args) {
      const value = arg.evaluate(frame);
      if (value instanceof EvalError && args.length > 1) return value;
      values.push(value);
    }
    const [only = null, other = null] = values;
    if (name !== "size" || typeof only === "string") frame.countWork(only, other);
    frame.charge(cost(values));
    return only instanceof EvalError ? only : invoke(values);
  };
}

function binaryEvaluate(
  left: Evaluate,
  right: Evaluate,
  cost: (args: readonly Value[]) => number,
  apply: (left: Value, right: Value) => Value,
): Evaluate {
  return (frame) => {
    const leftValue = left(frame);
    const rightValue = right(frame);
    if (apply === equals) frame.countComparison(leftValue, rightValue);
    else frame.countWork(leftValue, rightValue);
    frame.charge(cost([leftValue, rightValue]));
    if (leftValue instanceof EvalError) return leftValue;
    if (rightValue instanceof EvalError) return rightValue;
    return apply(leftValue, rightValue);
  };
}
