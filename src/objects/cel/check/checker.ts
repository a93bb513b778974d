/**
 * Type checker of CEL expressions: assigns a type to every subexpression and overloads to every call, or reports
 * issues.
 */
import type { Overload } from "../library/function.ts";
import type { StructFactory } from "../library/structs.ts";
import {
  type Call,
  type Comprehension,
  type Expression,
  type ListLiteral,
  type MapLiteral,
  type Select,
  type StructLiteral,
  qualifiedName,
} from "../syntax/expression.ts";
import type { Issue } from "../syntax/issues.ts";
import { mostGeneral, Substitutions } from "../types/assignable.ts";
import {
  BOOL,
  DYN,
  ERROR,
  formatType,
  INT,
  isDyn,
  isDynOrError,
  isSameType,
  listOf,
  mapOf,
  optionalContent,
  optionalOf,
  type Type,
  typeOf,
  typeParameter,
  withParameters,
} from "../types/type.ts";
import { literalType } from "./literal-type.ts";
import { type Environment, type Scope, variableType } from "./scope.ts";

/** The declaration to which a name or call was resolved. */
export type Reference =
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "type"; readonly type: Type }
  | { readonly kind: "struct"; readonly factory: StructFactory }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly overloads: readonly Overload[];
      readonly isMember: boolean;
    };

export interface Checked {
  readonly expression: Expression;
  readonly types: ReadonlyMap<Expression, Type>;
  readonly references: ReadonlyMap<Expression, Reference>;
}

const OPTIONAL_SELECT = "_?._";

export class Checker {
  readonly types = new Map<Expression, Type>();
  readonly references = new Map<Expression, Reference>();
  readonly #environment: Environment;
  readonly #issues: Issue[];
  readonly #substitutions = new Substitutions();
  #scope: Scope;
  #freeVariables = 0;

  constructor(environment: Environment, variables: ReadonlyMap<string, Type>, issues: Issue[]) {
    this.#environment = environment;
    this.#issues = issues;
    this.#scope = { parent: undefined, variables };
  }

  /**
   * The type of a subexpression. Memoized, because the expansion of a macro can contain the same subexpression twice.
   */
  check(expression: Expression): Type {
    const known = this.types.get(expression);
    if (known !== undefined) return known;
    const type = this.#typeOf(expression);
    this.types.set(expression, type);
    return type;
  }

  finish(): void {
    for (const [expression, type] of this.types) this.types.set(expression, this.#substitutions.resolve(type, true));
  }

  #typeOf(expression: Expression): Type {
    switch (expression.kind) {
      case "literal":
        return literalType(expression.value);
      case "ident":
        return this.#name(expression, expression.name) ?? this.#undeclared(expression, expression.name);
      case "select":
        return this.#select(expression);
      case "call":
        return this.#call(expression);
      case "list":
        return this.#list(expression);
      case "map":
        return this.#map(expression);
      case "struct":
        return this.#struct(expression);
      default:
        return this.#comprehension(expression);
    }
  }

  #issue(at: Expression, message: string): Type {
    this.#issues.push({ position: at.position, message });
    return ERROR;
  }

  #undeclared(at: Expression, name: string): Type {
    return this.#issue(at, `undeclared reference to '${name}' (in container '')`);
  }

  #mismatch(at: Expression, expected: Type, found: Type): Type {
    return this.#issue(at, `expected type '${formatType(expected)}' but found '${formatType(found)}'`);
  }

  #name(at: Expression, name: string): Type | undefined {
    const variable = variableType(this.#scope, name);
    if (variable !== undefined) {
      this.references.set(at, { kind: "variable", name: name.replace(/^\./, "") });
      return variable;
    }
    const plain = name.replace(/^\./, "");
    const type = this.#environment.typeNames.get(plain) ?? this.#environment.structs?.(plain)?.type;
    if (type === undefined) return undefined;
    this.references.set(at, { kind: "type", type });
    return typeOf(type);
  }

  #select(select: Select): Type {
    const name = qualifiedName(select);
    const named = name === undefined ? undefined : this.#name(select, name);
    if (named !== undefined) return named;
    const type = this.#field(select, select.operand, select.field, false);
    return select.isTest ? BOOL : this.#substitutions.resolve(type, false);
  }

  #field(at: Expression, operand: Expression, field: string, isOptional: boolean): Type {
    const operandType = this.#substitutions.resolve(this.check(operand), false);
    const content = optionalContent(operandType);
    const type = this.#fieldType(at, content ?? operandType, field);
    return isOptional || content !== undefined ? optionalOf(type) : type;
  }

  #fieldType(at: Expression, type: Type, field: string): Type {
    switch (type.kind) {
      case "map":
        return type.parameters[1] ?? DYN;
      case "struct":
        return type.fields?.get(field) ?? this.#issue(at, `undefined field '${field}'`);
      case "param":
        this.#substitutions.isAssignable(DYN, type);
        return DYN;
      default:
        if (!isDynOrError(type)) this.#issue(at, `type '${formatType(type)}' does not support field selection`);
        return DYN;
    }
  }

  #call(call: Call): Type {
    if (call.name === OPTIONAL_SELECT) return this.#optionalSelect(call);
    for (const arg of call.args) this.check(arg);
    if (call.target === undefined) {
      const name = call.name.replace(/^\./, "");
      return this.#function(call, name, undefined) ?? this.#undeclared(call, call.name);
    }
    const prefix = qualifiedName(call.target);
    const qualified = prefix === undefined ? undefined : this.#function(call, `${prefix}.${call.name}`, undefined);
    if (qualified !== undefined) return qualified;
    this.check(call.target);
    return this.#function(call, call.name, call.target) ?? this.#undeclared(call, call.name);
  }

  #optionalSelect(call: Call): Type {
    const [operand, field] = call.args;
    if (operand === undefined || field?.kind !== "literal" || typeof field.value !== "string")
      return this.#issue(call, "unsupported optional field selection: incorrect signature.");
    const type = this.#field(call, operand, field.value, true);
    const overloads = this.#environment.functions.get(OPTIONAL_SELECT) ?? [];
    this.references.set(call, { kind: "call", name: OPTIONAL_SELECT, overloads, isMember: false });
    return this.#substitutions.resolve(type, false);
  }

  /** The result type of a call; undefined if there is no function of that name. */
  #function(call: Call, name: string, target: Expression | undefined): Type | undefined {
    const overloads = this.#environment.functions.get(name);
    if (overloads === undefined) return undefined;
    if (name === "_&&_" || name === "_||_") return this.#logical(call, name, overloads);
    const args = target === undefined ? call.args : [target, ...call.args];
    const argTypes = args.map((arg) => this.check(arg));
    const fitting: Overload[] = [];
    let result: Type | undefined;
    for (const candidate of overloads) {
      if (candidate.isMember !== (target !== undefined)) continue;
      const type = this.#resultOf(candidate, argTypes);
      if (type === undefined) continue;
      fitting.push(candidate);
      if (result === undefined) result = type;
      else if (!isDyn(result) && !isSameType(type, result)) result = DYN;
    }
    if (result === undefined) return this.#noOverload(call, name, argTypes, target !== undefined);
    this.references.set(call, { kind: "call", name, overloads: fitting, isMember: target !== undefined });
    return result;
  }

  #resultOf(candidate: Overload, argTypes: readonly Type[]): Type | undefined {
    const fresh = new Map(candidate.typeParameters.map((name) => [name, this.#newVariable()]));
    const expected = candidate.args.map((type) => renamed(type, fresh));
    if (!this.#substitutions.isEachAssignable(argTypes, expected)) return undefined;
    return this.#substitutions.resolve(renamed(candidate.result, fresh), false);
  }

  #noOverload(call: Call, name: string, argTypes: readonly Type[], isMember: boolean): Type {
    const shown = argTypes.map((type) => formatType(this.#substitutions.resolve(type, true)));
    const signature = isMember ? `${shown[0]}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`;
    return this.#issue(call, `found no matching overload for '${name}' applied to '${signature}'`);
  }

  #logical(call: Call, name: string, overloads: readonly Overload[]): Type {
    let isBool = true;
    for (const arg of call.args) {
      const type = this.check(arg);
      if (this.#substitutions.isAssignable(type, BOOL)) continue;
      this.#mismatch(arg, BOOL, type);
      isBool = false;
    }
    this.references.set(call, { kind: "call", name, overloads, isMember: false });
    return isBool ? BOOL : ERROR;
  }

  #newVariable(): Type {
    return typeParameter(`_var${this.#freeVariables++}`);
  }

  #list(list: ListLiteral): Type {
    let joined: Type | undefined;
    for (const [index, element] of list.elements.entries()) {
      const type = this.check(element);
      joined = this.#joined(joined, list.optional.has(index) ? this.#content(element, type) : type);
    }
    return listOf(joined ?? this.#newVariable());
  }

  /** The content type of the optional value of an element or field that was written with a question mark. */
  #content(at: Expression, type: Type): Type {
    const content = optionalContent(type);
    if (content === undefined && !isDyn(type)) this.#mismatch(at, optionalOf(type), type);
    return content ?? type;
  }

  #map(map: MapLiteral): Type {
    let keys: Type | undefined;
    let values: Type | undefined;
    for (const { key, value, isOptional } of map.entries) {
      keys = this.#joined(keys, this.check(key));
      const type = this.check(value);
      values = this.#joined(values, isOptional ? this.#content(value, type) : type);
    }
    return mapOf(keys ?? this.#newVariable(), values ?? this.#newVariable());
  }

  #struct(struct: StructLiteral): Type {
    const factory = this.#environment.structs?.(struct.name.replace(/^\./, ""));
    if (factory === undefined) return this.#undeclared(struct, struct.name);
    for (const { name, value, position, isOptional } of struct.fields) {
      const found = this.check(value);
      const type = isOptional ? this.#content(value, found) : found;
      const expected = factory.fieldType(name);
      if (expected !== undefined && this.#substitutions.isAssignable(expected, type)) continue;
      // As kubernetes: the error about an unknown field shows an empty type.
      const wanted = expected === undefined ? "" : formatType(expected);
      const message = `expected type of field '${name}' is '${wanted}' but provided type is '${formatType(type)}'`;
      this.#issues.push({ position, message });
    }
    this.references.set(struct, { kind: "struct", factory });
    return factory.type;
  }

  /**
   * The type of elements of both types. Literals of mixed types become dyn; `literalIssues` later reports them where
   * they are not allowed.
   */
  #joined(before: Type | undefined, type: Type): Type {
    if (before === undefined) return type;
    return this.#substitutions.isAssignable(before, type) ? mostGeneral(before, type) : DYN;
  }

  #comprehension(comprehension: Comprehension): Type {
    const { range, secondVariable, condition, step, result } = comprehension;
    this.check(range);
    const accumulated = this.check(comprehension.initial);
    const rangeType = this.#substitutions.resolve(this.check(range), false);
    const outer = this.#scope;
    const loop: Scope = { parent: outer, variables: new Map([[comprehension.accumulator, accumulated]]) };
    const [first, second] = this.#elementTypes(range, rangeType, secondVariable !== undefined);
    const variables = new Map([[comprehension.variable, first]]);
    if (secondVariable !== undefined) variables.set(secondVariable, second);
    this.#scope = { parent: loop, variables };
    this.check(condition);
    this.#assert(condition, BOOL);
    this.check(step);
    this.#assert(step, accumulated);
    this.#scope = loop;
    const type = this.check(result);
    this.#scope = outer;
    return this.#substitutions.resolve(type, false);
  }

  #assert(expression: Expression, expected: Type): void {
    const found = this.check(expression);
    if (!this.#substitutions.isAssignable(expected, found)) this.#mismatch(expression, expected, found);
  }

  #elementTypes(range: Expression, type: Type, isPair: boolean): readonly [Type, Type] {
    const [first = DYN, second = DYN] = type.parameters;
    switch (type.kind) {
      case "list":
        return isPair ? [INT, first] : [first, DYN];
      case "map":
        return [first, second];
      case "dyn":
      case "any":
      case "error":
      case "param":
        this.#substitutions.isAssignable(DYN, type);
        return [DYN, DYN];
      default: {
        const shown = formatType(type);
        this.#issue(
          range,
          `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [ERROR, ERROR];
      }
    }
  }
}

function renamed(type: Type, names: ReadonlyMap<string, Type>): Type {
  if (type.kind === "param") return names.get(type.name) ?? type;
  if (type.parameters.length === 0) return type;
  return withParameters(
    type,
    type.parameters.map((parameter) => renamed(parameter, names)),
  );
}
