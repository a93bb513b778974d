/** Validates the CEL rules of a schema when its CRD is written. */
import type { Environment } from "../../../../objects/cel/check/scope.ts";
import { celEnvironment } from "../../../../objects/cel/environment.ts";
import { forbiddenField, invalidGoValue, invalidValue } from "../../../../meta/field-errors.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { StructuralSchema, ValidationRule } from "../schema.ts";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import { costMessage, RuleCosts } from "./costs.ts";
import { type DeclaredType, declaredType, REQUEST_BYTES_MAX, SELF_TYPE } from "./declared-types.ts";
import { NEWEST_GATES } from "../../../../objects/catalog/release-gates.ts";
import { RULE_COST_MAX, SCHEMA_COST_MAX } from "./rule-limits.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";
import { internalValue } from "../../../../objects/kinds/internal-version/internal-value.ts";

interface RuleDefinition {
  /** The schema in `openAPIV3Schema`. */
  readonly schema: StructuralSchema;
  /** Field path of the schema, such as `spec.versions[0].schema.openAPIV3Schema`. */
  readonly path: string;
  /**
   * Whether the stored CRD has the same schema for this version. The costs of single rules are then not limited,
   * because they were accepted before.
   */
  readonly isUnchanged: boolean;
  /** Gates of the release that decide which functions new rules may use. Default: those of the newest release. */
  readonly gates?: ReleaseGates;
}

/** A schema at or below the root, with the facts that the limits depend on. */
interface Place {
  readonly schema: StructuralSchema;
  readonly path: string;
  readonly isRoot: boolean;
  /** Maximum number of values of this schema in one object; undefined if it is not limited. */
  readonly occurrences: number | undefined;
  /** Path of the nearest list whose elements cannot be correlated with existing ones; undefined if there is none. */
  readonly uncorrelatable: string | undefined;
}

/** An error whose value is the whole rule. */
function invalidRule(field: string, rule: ValidationRule, why: string): FieldError {
  return invalidGoValue(field, internalValue(rule, "ValidationRule"), why);
}

/** The maximum number of nested values for each value of the schema; undefined if it is not limited. */
function multiplier(schema: StructuralSchema): number | undefined {
  const { maxItems, maxProperties } = schema.value;
  if (schema.type === "array") return maxItems === undefined ? undefined : Math.max(0, maxItems);
  if (schema.type !== "object" || schema.additionalProperties === undefined) return 1;
  return maxProperties === undefined ? undefined : Math.max(0, maxProperties);
}

function occurrencesBelow({ schema, occurrences }: Place): number | undefined {
  const factor = multiplier(schema);
  return occurrences === undefined || factor === undefined ? undefined : occurrences * factor;
}

function* childrenOf(place: Place): Generator<Place> {
  const { schema, path, uncorrelatable } = place;
  const below = { isRoot: false, occurrences: occurrencesBelow(place), uncorrelatable };
  const { additionalProperties, items } = schema;
  if (typeof additionalProperties === "object")
    yield { ...below, schema: additionalProperties, path: `${path}.additionalProperties` };
  for (const [name, property] of schema.properties)
    yield { ...below, schema: property, path: `${path}.properties[${name}]` };
  if (items === undefined) return;
  const isCorrelated = schema.listType === "map";
  yield { ...below, schema: items, path: `${path}.items`, uncorrelatable: isCorrelated ? uncorrelatable : path };
}

class DefinitionCheck {
  readonly #environment: Environment;
  readonly #isUnchanged: boolean;
  readonly costs = new RuleCosts();

  constructor({ gates = NEWEST_GATES, isUnchanged }: RuleDefinition) {
    this.#environment = celEnvironment(gates);
    this.#isUnchanged = isUnchanged;
  }

  *errors(place: Place): Generator<FieldError> {
    for (const below of childrenOf(place)) yield* this.errors(below);
    const { schema, path } = place;
    if (schema.rules.length === 0) return;
    const declared = declaredType(schema, place.isRoot || schema.embeddedResource, SELF_TYPE);
    const field = `${path}.x-kubernetes-validations`;
    if (declared === undefined) {
      const why = "unable to convert structural schema to CEL declarations";
      const what = "internal error: failed to construct type information for x-kubernetes-validations rules";
      yield { field, reason: "InternalError", message: `Internal error: ${what}: ${why}` };
      return;
    }
    for (const [index, rule] of schema.rules.entries()) {
      const compiled = compileRule(rule, { schema, declared, environment: this.#environment });
      yield* this.#ruleErrors(compiled, declared, { ...place, path: `${field}[${index}]` });
    }
  }

  *#ruleErrors(compiled: CompiledRule, declared: DeclaredType, place: Place): Generator<FieldError> {
    const { rule, error } = compiled;
    const occurrences = place.occurrences ?? Math.floor(REQUEST_BYTES_MAX / (declared.bytesMin + 1));
    const cost = compiled.costMax * occurrences;
    const field = `${place.path}.rule`;
    yield* this.#costErrors(field, cost, "estimated rule cost");
    this.costs.add(field, cost);
    if (error !== undefined) yield invalidRule(field, rule, error);
    yield* this.#messageErrors(compiled, `${place.path}.messageExpression`);
    if (compiled.usesOldSelf && place.uncorrelatable !== undefined) {
      const why = "oldSelf cannot be used on the uncorrelatable portion of the schema within";
      yield invalidValue(field, rule.rule, `${why} ${place.uncorrelatable}`);
    } else if (!compiled.usesOldSelf && rule.optionalOldSelf !== undefined) {
      const why = "may not be set if oldSelf is not used in rule";
      yield invalidValue(`${place.path}.optionalOldSelf`, rule.optionalOldSelf, why);
    }
  }

  *#costErrors(field: string, cost: number, what: string): Generator<FieldError> {
    if (!this.#isUnchanged && cost > RULE_COST_MAX) yield forbiddenField(field, costMessage(what, cost, RULE_COST_MAX));
  }

  *#messageErrors(compiled: CompiledRule, field: string): Generator<FieldError> {
    if (compiled.messageError !== undefined) yield invalidRule(field, compiled.rule, compiled.messageError);
    else if (compiled.message !== undefined) {
      yield* this.#costErrors(field, compiled.messageCostMax, "estimated messageExpression cost");
      this.costs.add(field, compiled.messageCostMax);
    }
  }
}

/** Validates all rules. Must be called only if the schema has no other errors. */
export function* ruleDefinitionErrors(crd: RuleDefinition): Generator<FieldError> {
  const { schema, path } = crd;
  const check = new DefinitionCheck(crd);
  yield* check.errors({ schema, path, isRoot: true, occurrences: 1, uncorrelatable: undefined });
  const { total, mostExpensive } = check.costs;
  if (total <= SCHEMA_COST_MAX) return;
  for (const { field } of mostExpensive)
    yield forbiddenField(
      field,
      "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
    );
  const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
  yield forbiddenField(path, costMessage(what, total, SCHEMA_COST_MAX));
}
