/** Compiles one CEL rule and its messageExpression, or records why it does not compile. */
import type { Environment } from "../../../../objects/cel/check/scope.ts";
import { estimateCost } from "../../../../objects/cel/cost/estimate.ts";
import type { Range } from "../../../../objects/cel/cost/range.ts";
import { compile, type Program, type Variables } from "../../../../objects/cel/program.ts";
import { optionalOf } from "../../../../objects/cel/types/type.ts";
import type { NestedValidation, StructuralSchema, ValidationRule } from "../schema.ts";
import type { DeclaredType } from "./declared-types.ts";
import { normalizedFieldPath } from "./field-path.ts";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined if the rule is empty. */
  readonly program: Program | undefined;
  readonly error: string | undefined;
  readonly usesOldSelf: boolean;
  /** The estimated maximum cost of one evaluation. */
  readonly costMax: number;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  readonly messageCostMax: number;
  readonly fieldPath: string;
}

interface RuleContext {
  readonly schema: StructuralSchema | NestedValidation;
  readonly declared: DeclaredType;
  readonly environment: Environment;
}

const NOT_COMPILED = {
  program: undefined,
  error: undefined,
  usesOldSelf: false,
  costMax: 0,
  message: undefined,
  messageError: undefined,
  messageCostMax: 0,
  fieldPath: "",
} as const;

/** The maximum size of a value in an expression, by the limits of the schema; the same for `self` and `oldSelf`. */
function declaredSize(declared: DeclaredType, path: readonly string[]): Range | undefined {
  let at: DeclaredType | undefined = declared;
  for (const step of path.slice(1)) {
    if (step === "@items" || step === "@values") at = at?.element;
    else if (step === "@keys") at = at?.key;
    else at = at?.fields?.get(step);
    if (at === undefined) return undefined;
  }
  return { min: 0, max: at.elementsMax };
}

interface Wanted {
  readonly kind: "bool" | "string";
  /** Prefix of compile errors: empty for a rule, "messageExpression " for a messageExpression. */
  readonly prefix: string;
  readonly typeError: string;
}

const RULE: Wanted = { kind: "bool", prefix: "", typeError: "cel expression must evaluate to a bool" };
const MESSAGE: Wanted = {
  kind: "string",
  prefix: "messageExpression ",
  typeError: "messageExpression must evaluate to a string",
};

function compiledAs(wanted: Wanted, source: string, variables: Variables, environment: Environment): Program | string {
  const compiled = compile(source, environment, variables);
  if ("issues" in compiled) return `${wanted.prefix}compilation failed: ${compiled.issues}`;
  const { kind } = compiled.type;
  if (kind !== wanted.kind) return wanted.typeError;
  if ("planError" in compiled)
    return `${wanted.prefix === "" ? "program" : "messageExpression"} instantiation failed: ${compiled.planError}`;
  return compiled;
}

function variablesOf(rule: ValidationRule, declared: DeclaredType): Variables {
  const oldSelf = rule.optionalOldSelf === true ? optionalOf(declared.type) : declared.type;
  return new Map([
    ["self", declared.type],
    ["oldSelf", oldSelf],
  ]);
}

export function compileRule(rule: ValidationRule, { schema, declared, environment }: RuleContext): CompiledRule {
  if (rule.rule.trim() === "") return { ...NOT_COMPILED, rule };
  const variables = variablesOf(rule, declared);
  const program = compiledAs(RULE, rule.rule, variables, environment);
  if (typeof program === "string") return { ...NOT_COMPILED, rule, error: program };
  const sizeOf = (path: readonly string[]): Range | undefined => declaredSize(declared, path);
  const compiled: CompiledRule = {
    ...NOT_COMPILED,
    rule,
    program,
    usesOldSelf: program.uses("oldSelf"),
    costMax: estimateCost(program.checked, sizeOf),
    fieldPath: rule.fieldPath === "" ? "" : (normalizedFieldPath(rule.fieldPath, schema) ?? ""),
  };
  if (rule.messageExpression === "") return compiled;
  const message = compiledAs(MESSAGE, rule.messageExpression, variables, environment);
  // As kubernetes: if the messageExpression does not compile, the fieldPath of the rule is ignored too.
  if (typeof message === "string") return { ...compiled, fieldPath: "", messageError: message };
  return { ...compiled, message, messageCostMax: estimateCost(message.checked, sizeOf) };
}
