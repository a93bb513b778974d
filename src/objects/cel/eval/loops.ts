/** Evaluates comprehensions, the loops to which macros such as all() and map() expand. */
import type { Call, Comprehension, Expression } from "../syntax/expression.ts";
import { LiteralMap } from "../values/literal-map.ts";
import { ArrayList, EvalError, ListValue, MapValue, typeName, type Value } from "../values/value.ts";
import { mapKeyText } from "./attributes.ts";
import type { Evaluate, Frame } from "./frame.ts";
import type { Plan, Planner } from "./planner.ts";

/** Runs `body` for each element of `range` until `body` returns false. */
type Each = (frame: Frame, range: Value, body: () => boolean) => EvalError | undefined;

const LIST_COST = 10;

function eachOf(slot: number, secondSlot: number | undefined): Each {
  return (frame, range, body) => {
    if (range instanceof ListValue) {
      for (let index = 0; index < range.size; index++) {
        frame.countIteration();
        const element = range.at(index);
        frame.slots[slot] = secondSlot === undefined ? element : BigInt(index);
        if (secondSlot !== undefined) frame.slots[secondSlot] = element;
        if (!body()) return undefined;
      }
      return undefined;
    }
    if (!(range instanceof MapValue)) return new EvalError(`got '${goType(range)}', expected iterable type`);
    for (const key of range.keys()) {
      frame.countIteration();
      frame.slots[slot] = key;
      if (secondSlot !== undefined) frame.slots[secondSlot] = range.find(key) ?? null;
      if (!body()) return undefined;
    }
    return undefined;
  };
}

function goType(value: Value): string {
  const name = typeName(value);
  return `types.${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

interface Loop {
  readonly range: Evaluate;
  readonly initial: Plan;
  readonly condition: Plan;
  readonly step: Evaluate;
  readonly result: Evaluate;
  readonly accumulatorSlot: number;
  readonly each: Each;
}

function generalLoop(loop: Loop): Evaluate {
  const { accumulatorSlot, condition, step } = loop;
  return (frame) => {
    const range = loop.range(frame);
    if (range instanceof EvalError) return range;
    const initial = loop.initial.evaluate(frame);
    frame.slots[accumulatorSlot] = initial;
    const failure = loop.each(frame, range, () => {
      if (condition.evaluate(frame) === false) return false;
      frame.slots[accumulatorSlot] = step(frame);
      return true;
    });
    return failure ?? loop.result(frame);
  };
}

/** A comprehension without iterations, which only binds a name to a value. */
function binding(loop: Loop): Evaluate {
  return (frame) => {
    frame.slots[loop.accumulatorSlot] = loop.initial.evaluate(frame);
    return loop.result(frame);
  };
}

/** A step of a comprehension that adds one element to the accumulator, either always or only if the filter holds. */
interface Collecting {
  readonly filter: Expression | undefined;
  readonly add: Call;
}

function collecting(comprehension: Comprehension): Collecting | undefined {
  const { step, accumulator } = comprehension;
  const isAccumulated = (expression: Expression | undefined): boolean =>
    expression?.kind === "ident" && expression.name === accumulator;
  const adding = (expression: Expression | undefined): Call | undefined => {
    if (expression?.kind !== "call" || !isAccumulated(expression.args[0])) return undefined;
    return expression.name === "_+_" || expression.name === "cel.@mapInsert" ? expression : undefined;
  };
  if (!accumulator.startsWith("@")) return undefined;
  const always = adding(step);
  if (always !== undefined) return { filter: undefined, add: always };
  if (step.kind !== "call" || step.name !== "_?_:_") return undefined;
  const [filter, conditional, otherwise] = step.args;
  const add = adding(conditional);
  return add !== undefined && isAccumulated(otherwise) ? { filter, add } : undefined;
}

/** Adds to the accumulator in place. That is safe, because no other code sees the accumulator before the loop ends. */
type Add = (frame: Frame) => EvalError | undefined;

function filteredLoop(loop: Loop, filter: Plan | undefined, add: Add, collect: (frame: Frame) => Value): Evaluate {
  return (frame) => {
    const range = loop.range(frame);
    if (range instanceof EvalError) return range;
    const collected = collect(frame);
    let error: EvalError | undefined;
    const failure = loop.each(frame, range, () => {
      if (loop.condition.evaluate(frame) === false) return false;
      const isWanted = filter === undefined || filter.evaluate(frame);
      if (isWanted === false) return true;
      error = isWanted === true ? add(frame) : asError(isWanted);
      return error === undefined;
    });
    if (failure !== undefined || error !== undefined) return failure ?? error ?? null;
    frame.slots[loop.accumulatorSlot] = collected instanceof Collected ? new ArrayList(collected.values) : collected;
    return loop.result(frame);
  };
}

function asError(value: Value): EvalError {
  return value instanceof EvalError ? value : new EvalError("no such overload");
}

/** The accumulator of a loop that builds a list. */
class Collected extends LiteralMap {
  readonly values: Value[] = [];
}

function listLoop(planner: Planner, loop: Loop, { filter, add }: Collecting): Evaluate | undefined {
  const list = add.args[1];
  const element = list?.kind === "list" && list.optional.size === 0 ? list.elements[0] : undefined;
  if (element === undefined || list?.kind !== "list" || list.elements.length !== 1) return undefined;
  const plan = planner.plan(element);
  const cost = plan.constant === undefined ? LIST_COST + 2 : 2;
  const addElement: Add = (frame) => {
    const value = plan.evaluate(frame);
    if (value instanceof EvalError) return value;
    frame.charge(cost);
    (frame.slots[loop.accumulatorSlot] as Collected).values.push(value);
    return undefined;
  };
  const filterPlan = filter === undefined ? undefined : planner.plan(filter);
  return filteredLoop(loop, filterPlan, addElement, (frame) => (frame.slots[loop.accumulatorSlot] = new Collected()));
}

function mapLoop(planner: Planner, loop: Loop, { filter, add }: Collecting): Evaluate | undefined {
  const [key, value] = add.args.slice(1).map((arg) => planner.plan(arg));
  if (key === undefined) return undefined;
  const insert = (target: LiteralMap, newKey: Value, newValue: Value): EvalError | undefined => {
    if (target.has(newKey)) return new EvalError(`insert failed: key ${mapKeyText(newKey)} already exists`);
    return target.set(newKey, newValue) ? undefined : new EvalError(`unsupported key type: ${mapKeyText(newKey)}`);
  };
  const addEntries: Add = (frame) => {
    const target = frame.slots[loop.accumulatorSlot] as LiteralMap;
    const first = key.evaluate(frame);
    if (first instanceof EvalError) return first;
    const second = value?.evaluate(frame);
    if (second instanceof EvalError) return second;
    frame.charge(2);
    if (second !== undefined) return insert(target, first, second);
    if (!(first instanceof MapValue)) return new EvalError("no such overload");
    for (const entryKey of first.keys()) {
      const error = insert(target, entryKey, first.find(entryKey) ?? null);
      if (error !== undefined) return error;
    }
    return undefined;
  };
  const filterPlan = filter === undefined ? undefined : planner.plan(filter);
  return filteredLoop(loop, filterPlan, addEntries, (frame) => (frame.slots[loop.accumulatorSlot] = new LiteralMap()));
}

function planInside(planner: Planner, comprehension: Comprehension, loop: Omit<Loop, "step" | "condition">): Evaluate {
  const condition = planner.plan(comprehension.condition);
  if (condition.constant?.value === false) return binding({ ...loop, condition, step: condition.evaluate });
  const collect = collecting(comprehension);
  const whole: Loop = { ...loop, condition, step: condition.evaluate };
  if (collect !== undefined) {
    const isMap = collect.add.name === "cel.@mapInsert";
    const special = isMap ? mapLoop(planner, whole, collect) : listLoop(planner, whole, collect);
    if (special !== undefined) return special;
  }
  return generalLoop({ ...whole, step: planner.plan(comprehension.step).evaluate });
}

export function planLoop(planner: Planner, comprehension: Comprehension): Evaluate {
  const range = planner.plan(comprehension.range).evaluate;
  const initial = planner.plan(comprehension.initial);
  return planner.withVariable(comprehension.accumulator, (accumulatorSlot) => {
    const result = planner.plan(comprehension.result).evaluate;
    return planner.withVariable(comprehension.variable, (slot) => {
      const inside = (secondSlot: number | undefined): Evaluate =>
        planInside(planner, comprehension, { range, initial, result, accumulatorSlot, each: eachOf(slot, secondSlot) });
      const { secondVariable } = comprehension;
      return secondVariable === undefined ? inside(undefined) : planner.withVariable(secondVariable, inside);
    });
  });
}
