/**
 * Compiles the CEL rules of a schema (x-kubernetes-validations). They are compiled when they are first needed, and
 * shared by all objects of a version.
 */
import type { Environment } from "../../../../objects/cel/check/scope.ts";
import { celEnvironment } from "../../../../objects/cel/environment.ts";
import type { NestedValidation, StructuralSchema, ValidationRule } from "../schema.ts";
import { type CompiledRule, compileRule } from "./compiled-rule.ts";
import { type DeclaredType, declaredType, SELF_TYPE } from "./declared-types.ts";
import { escapeName } from "../../../../objects/cel/escaping.ts";
import { withTypeAndObjectMeta } from "./resource-root.ts";
import { NEWEST_GATES } from "../../../../objects/catalog/release-gates.ts";

/** A schema that has rules, or that contains schemas with rules. */
export interface CompiledRules {
  readonly schema: StructuralSchema;
  /** The schema for values in expressions. At the root of a resource it includes apiVersion, kind and metadata. */
  readonly valueSchema: StructuralSchema;
  /** Undefined if CEL cannot represent the values of this schema. */
  readonly rules: () => readonly CompiledRule[] | undefined;
  readonly items: CompiledRules | undefined;
  readonly properties: ReadonlyMap<string, CompiledRules>;
  readonly additionalProperties: CompiledRules | undefined;
  readonly allOf: readonly CompiledRules[];
}

type Validation = StructuralSchema | NestedValidation;

/** A schema at or below the root, with its CEL type. */
interface Place {
  readonly validation: Validation;
  readonly schema: StructuralSchema;
  readonly isResourceRoot: boolean;
  readonly declared: DeclaredType | undefined;
}

function allOfAt(validation: Validation): readonly NestedValidation[] {
  return "value" in validation ? validation.value.allOf : validation.allOf;
}

function valuesOf(validation: Validation): Validation | undefined {
  const { additionalProperties } = validation;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/**
 * Whether the schema has rules outside of junctors (allOf, anyOf, oneOf, not). Without such rules, rules below allOf
 * are not evaluated either.
 */
function hasRules(schema: StructuralSchema): boolean {
  if (schema.rules.length > 0) return true;
  if (schema.items !== undefined && hasRules(schema.items)) return true;
  if (typeof schema.additionalProperties === "object" && hasRules(schema.additionalProperties)) return true;
  for (const property of schema.properties.values()) if (hasRules(property)) return true;
  return false;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

class RuleCompiler {
  readonly #environment = once((): Environment => celEnvironment(NEWEST_GATES));

  at(place: Place): CompiledRules | undefined {
    const { validation, schema } = place;
    const items = this.#items(place);
    const properties = this.#properties(place);
    const additionalProperties = this.#values(place);
    const allOf = allOfAt(validation).flatMap((nested) => this.at({ ...place, validation: nested }) ?? []);
    const isEmpty = items === undefined && additionalProperties === undefined && properties.size === 0;
    if (validation.rules.length === 0 && isEmpty && allOf.length === 0) return undefined;
    return {
      schema,
      valueSchema: place.isResourceRoot ? withTypeAndObjectMeta(schema) : schema,
      rules: this.#rules(validation.rules, place),
      items,
      properties,
      additionalProperties,
      allOf,
    };
  }

  /**
   * The CEL type is declared separately for each schema with rules, because type names in messages are paths relative
   * to that schema.
   */
  #rules(
    rules: readonly ValidationRule[],
    { declared: inherited, schema, isResourceRoot }: Place,
  ): CompiledRules["rules"] {
    return once(() => {
      if (rules.length === 0) return [];
      const declared = inherited === undefined ? undefined : declaredType(schema, isResourceRoot, SELF_TYPE);
      if (declared === undefined) return undefined;
      return rules.map((rule) => compileRule(rule, { schema, declared, environment: this.#environment() }));
    });
  }

  #items({ validation, schema, declared }: Place): CompiledRules | undefined {
    if (validation.items === undefined || schema.items === undefined) return undefined;
    return this.at({
      validation: validation.items,
      schema: schema.items,
      isResourceRoot: schema.items.embeddedResource,
      declared: declared?.element,
    });
  }

  #values({ validation, schema, declared }: Place): CompiledRules | undefined {
    const values = valuesOf(validation);
    if (values === undefined || typeof schema.additionalProperties !== "object") return undefined;
    return this.at({
      validation: values,
      schema: schema.additionalProperties,
      isResourceRoot: schema.additionalProperties.embeddedResource,
      declared: declared?.element,
    });
  }

  #properties({ validation, schema, declared }: Place): Map<string, CompiledRules> {
    const compiled = new Map<string, CompiledRules>();
    for (const [name, property] of validation.properties) {
      const propertySchema = schema.properties.get(name);
      if (propertySchema === undefined) continue;
      const isResourceRoot = propertySchema.embeddedResource;
      const escaped = escapeName(name);
      const type =
        escaped === undefined
          ? declaredType(propertySchema, isResourceRoot, SELF_TYPE)
          : declared?.fields?.get(escaped);
      if (type === undefined) continue;
      const rules = this.at({ validation: property, schema: propertySchema, isResourceRoot, declared: type });
      if (rules !== undefined) compiled.set(name, rules);
    }
    return compiled;
  }
}

/**
 * Returns undefined if the schema has no rules. `isResourceRoot` is true if the schema describes a whole resource, as
 * the root schema of a version does.
 */
export function compileRules(schema: StructuralSchema, isResourceRoot = true): CompiledRules | undefined {
  if (!hasRules(schema)) return undefined;
  const declared = declaredType(schema, isResourceRoot, SELF_TYPE);
  return new RuleCompiler().at({ validation: schema, schema, isResourceRoot, declared });
}
