/** Validates the expressions of a policy or webhook configuration when it is written. */
import type { Environment } from "../../../cel/check/scope.ts";
import { celEnvironment } from "../../../cel/environment.ts";
import { BOOL, NULL, STRING, type Type } from "../../../cel/types/type.ts";
import { invalidValue } from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { OptionalVariables } from "./admission-variables.ts";
import { compileExpression } from "./compile-expression.ts";
import { compositedType } from "./composited-variables.ts";
import { MUTATIONS, withPatchTypes } from "./patch-types.ts";
import type { ReleaseGates } from "../../../release-gates.ts";

type ExpressionKind = "condition" | "validation" | "message" | "annotation" | "applyConfiguration" | "jsonPatch";

/**
 * Stored expressions may use everything that the release supports. New expressions may use only features that the
 * previous release supports too, so that its servers can compile them after a rollback.
 */
export class ExpressionCheck {
  readonly #gates: ReleaseGates;
  readonly #stored = new Set<string>();
  readonly #environments = new Map<ReleaseGates, Environment>();
  readonly #hasParams: boolean;
  readonly #composited: Map<string, Type> | undefined;

  /** `spec`: the spec of a policy; undefined for webhooks. */
  constructor(gates: ReleaseGates, spec?: JsonObject) {
    this.#gates = gates;
    this.#hasParams = spec?.["paramKind"] !== undefined;
    this.#composited = objectsAt(spec ?? {}, "variables").length > 0 ? new Map() : undefined;
  }

  addStoredConditions(conditions: readonly JsonObject[]): void {
    this.#add("condition", conditions, "expression");
  }

  addStoredPolicy(policy: JsonObject): void {
    const spec = objectAt(policy, "spec");
    this.addStoredConditions(objectsAt(spec, "matchConditions"));
    const validations = objectsAt(spec, "validations");
    this.#add("validation", validations, "expression");
    this.#add("message", validations, "messageExpression");
    this.#add("annotation", objectsAt(spec, "auditAnnotations"), "valueExpression");
    for (const kind of ["applyConfiguration", "jsonPatch"] as const)
      this.#add(
        kind,
        objectsAt(spec, "mutations").map((mutation) => objectAt(mutation, kind)),
        "expression",
      );
  }

  #add(kind: ExpressionKind, parents: readonly JsonObject[], key: string): void {
    for (const parent of parents) this.#stored.add(`${kind} ${stringAt(parent, key)}`);
  }

  #environment(kind: ExpressionKind, source: string): Environment {
    const gates = this.#stored.has(`${kind} ${source}`) ? this.#gates : this.#gates.previous;
    const known = this.#environments.get(gates);
    if (known !== undefined) return known;
    const environment = celEnvironment(gates);
    this.#environments.set(gates, environment);
    return environment;
  }

  #variables(hasAuthorizer: boolean): OptionalVariables {
    return { hasParams: this.#hasParams, hasAuthorizer, composited: this.#composited };
  }

  /** Match conditions cannot use the variables of the policy. */
  conditionErrors(source: string, field: string): Generator<FieldError> {
    const variables = { ...this.#variables(true), composited: undefined };
    return this.#errors({ kind: "condition", source: source.trim(), field, returns: [BOOL], variables });
  }

  validationErrors(source: string, field: string): Generator<FieldError> {
    return this.#errors({ kind: "validation", source, field, returns: [BOOL], variables: this.#variables(true) });
  }

  messageErrors(source: string, field: string): Generator<FieldError> {
    return this.#errors({ kind: "message", source, field, returns: [STRING], variables: this.#variables(false) });
  }

  annotationErrors(source: string, field: string): Generator<FieldError> {
    const variables = this.#variables(true);
    return this.#errors({ kind: "annotation", source, field, returns: [STRING, NULL], variables });
  }

  mutationErrors(source: string, kind: keyof typeof MUTATIONS, field: string): Generator<FieldError> {
    const variables = this.#variables(true);
    return this.#errors({ kind, source: source.trim(), field, returns: [MUTATIONS[kind]], variables });
  }

  /** Checks the expression of a variable, and declares the variable for the expressions after it. */
  *variableErrors({ name, source }: { name: string; source: string }, field: string): Generator<FieldError> {
    const variables = this.#variables(true);
    const type = yield* this.#errors({ kind: "validation", source, field, returns: undefined, variables });
    this.#composited?.set(name, compositedType(type));
  }

  *#errors({ kind, source, field, returns, variables }: Checked): Generator<FieldError, Type> {
    const known = this.#environment(kind, source);
    const environment = kind in MUTATIONS ? withPatchTypes(known) : known;
    const compiled = kind === "annotation" ? source.trim() : source;
    const { error, type } = compileExpression(compiled, returns, { environment, variables });
    if (error?.isInternal === true)
      yield { field, reason: "InternalError", message: `Internal error: ${error.message}` };
    else if (error !== undefined) yield invalidValue(field, source, error.message);
    return type;
  }
}

interface Checked {
  readonly kind: ExpressionKind;
  readonly source: string;
  readonly field: string;
  readonly returns: readonly Type[] | undefined;
  readonly variables: OptionalVariables;
}
