/** Decides whether a type is assignable to another, and binds type parameters accordingly. */
import { DYN, isDyn, isDynOrError, isSameType, type TypeKind, type Type, withParameters } from "./type.ts";

const NULLABLE: ReadonlySet<TypeKind> = new Set<TypeKind>(["opaque", "struct", "any", "duration", "timestamp"]);
const WITH_PARAMETERS: ReadonlySet<TypeKind> = new Set<TypeKind>(["opaque", "list", "map", "type"]);

function isEqualOrLessSpecific(left: Type, right: Type): boolean {
  if (isDyn(left) || left.kind === "param") return true;
  if (isDyn(right) || right.kind === "param" || left.kind !== right.kind) return false;
  switch (left.kind) {
    case "opaque":
    case "list":
    case "map":
      return left.name === right.name && isEachLessSpecific(left.parameters, right.parameters);
    case "type":
      return true;
    default:
      return isSameType(left, right);
  }
}

function isEachLessSpecific(left: readonly Type[], right: readonly Type[]): boolean {
  return (
    left.length === right.length &&
    left.every((parameter, index) => isEqualOrLessSpecific(parameter, right[index] ?? DYN))
  );
}

export function mostGeneral(left: Type, right: Type): Type {
  return isEqualOrLessSpecific(left, right) ? left : right;
}

/** Bounds the steps of the type check of one expression. DIFFERS: kubernetes has no such bound. */
const STEPS_MAX = 10_000_000;

/** Thrown when the type check of an expression takes too many steps. */
export class TypesTooComplex extends Error {
  override readonly name = "TypesTooComplex";
}

/** The bindings of type parameters. If a match fails, its bindings are undone. */
export class Substitutions {
  readonly #bound = new Map<string, Type>();
  #steps = 0;
  readonly #trail: { readonly name: string; readonly before: Type | undefined }[] = [];

  isAssignable(left: Type, right: Type): boolean {
    return this.#attempt(() => this.#matches(left, right));
  }

  isEachAssignable(left: readonly Type[], right: readonly Type[]): boolean {
    return this.#attempt(() => this.#eachMatches(left, right));
  }

  #attempt(match: () => boolean): boolean {
    const mark = this.#trail.length;
    const isMatch = match();
    if (!isMatch) this.#undo(mark);
    else this.#trail.length = 0;
    return isMatch;
  }

  #undo(mark: number): void {
    while (this.#trail.length > mark) {
      const { name, before } = this.#trail.pop() as { name: string; before: Type | undefined };
      if (before === undefined) this.#bound.delete(name);
      else this.#bound.set(name, before);
    }
  }

  #bind(parameter: Type, type: Type): void {
    this.#trail.push({ name: parameter.name, before: this.#bound.get(parameter.name) });
    this.#bound.set(parameter.name, type);
  }

  #find(type: Type): Type | undefined {
    return type.kind === "param" ? this.#bound.get(type.name) : undefined;
  }

  /** The type with all bound parameters replaced. `unknownToDyn`: unbound parameters become dyn. */
  resolve(type: Type, unknownToDyn: boolean): Type {
    this.#count();
    const found = this.#find(type);
    if (found !== undefined) return this.resolve(found, unknownToDyn);
    if (type.kind === "param") return unknownToDyn ? DYN : type;
    if (!WITH_PARAMETERS.has(type.kind) || type.parameters.length === 0) return type;
    return withParameters(
      type,
      type.parameters.map((parameter) => this.resolve(parameter, unknownToDyn)),
    );
  }

  #count(): void {
    if (++this.#steps > STEPS_MAX) throw new TypesTooComplex();
  }

  #matches(left: Type, right: Type): boolean {
    this.#count();
    if (right.kind === "param") {
      const { isValid, isBound } = this.#canStandFor(left, right);
      if (isValid) return true;
      if (isBound) return false;
    }
    if (left.kind === "param") return this.#canStandFor(right, left).isValid;
    if (isDynOrError(left) || isDynOrError(right)) return true;
    if (left.kind === "null") return right.kind === "null" || NULLABLE.has(right.kind);
    if (right.kind === "null") return NULLABLE.has(left.kind);
    return this.#kindMatches(left, right);
  }

  #kindMatches(left: Type, right: Type): boolean {
    switch (left.kind) {
      case "type":
        return right.kind === "type";
      case "opaque":
      case "list":
      case "map":
        return (
          left.kind === right.kind && left.name === right.name && this.#eachMatches(left.parameters, right.parameters)
        );
      default:
        return isSameType(left, right);
    }
  }

  #eachMatches(left: readonly Type[], right: readonly Type[]): boolean {
    return left.length === right.length && left.every((type, index) => this.#matches(type, right[index] ?? DYN));
  }

  #canStandFor(type: Type, parameter: Type): { isValid: boolean; isBound: boolean } {
    if (type.kind === "param" && type.name === parameter.name) return { isValid: true, isBound: true };
    const bound = this.#find(parameter);
    if (bound === undefined) {
      if (this.#occursIn(parameter, type)) return { isValid: false, isBound: false };
      this.#bind(parameter, type);
      return { isValid: true, isBound: false };
    }
    if (isSameType(type, bound)) return { isValid: true, isBound: true };
    if (!this.#matches(type, bound)) return { isValid: false, isBound: true };
    const general = mostGeneral(type, bound);
    if (!this.#occursIn(parameter, general)) this.#bind(parameter, general);
    return { isValid: true, isBound: true };
  }

  #occursIn(parameter: Type, type: Type): boolean {
    this.#count();
    if (isSameType(parameter, type)) return true;
    const bound = this.#find(type);
    if (bound !== undefined) return this.#occursIn(parameter, bound);
    return type.parameters.some((inner) => this.#occursIn(parameter, inner));
  }
}
