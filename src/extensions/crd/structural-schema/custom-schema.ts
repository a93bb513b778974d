/**
 * The schema of a CRD version, with all operations on objects that use it: decoding, pruning, defaulting and
 * validation. Each part is compiled once, when it is first needed.
 */
import type { JsonObject } from "../../../meta/json.ts";
import type { CauseReason, FieldError } from "../../../meta/status-error.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { compileDefaults, dropNulls } from "./defaults.ts";
import { compileEmbedded } from "./embedded.ts";
import {
  coerceEmbedded,
  coerceMetadata,
  embeddedErrors,
  repairEmbedded,
  type MetadataErrors,
  type MetadataType,
} from "./metadata.ts";
import { parseStructural } from "./parse.ts";
import { pruneUnknown } from "./prune.ts";
import { compileRules } from "./rules/compile.ts";
import { schemaRuleErrors } from "./rules/evaluate.ts";
import type { StructuralSchema } from "./schema.ts";
import { toStructSchema } from "./struct-schema.ts";
import { compileListTypes } from "./validate/list-types.ts";
import { compileValues } from "./validate/validate-value.ts";
import { NO_FIELD } from "./validate/walk.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

export interface CustomSchemaParts {
  /** OpenAPI model name of the kind. */
  readonly name: string;
  readonly metadata: MetadataType;
  /**
   * Validates the metadata of embedded resources, whose names must be valid path segments. The scope of an embedded
   * resource is unknown, so a namespace is neither required nor forbidden.
   */
  readonly metadataErrors: MetadataErrors;
  /** Gates of the release by whose rules objects are validated. */
  readonly gates: ReleaseGates;
  /** True for CRDs that were created with v1beta1 and keep fields that the schema does not specify. */
  readonly preservesUnknown?: boolean;
}

interface ErrorOptions {
  /** The existing object, on update only. */
  readonly existing?: JsonObject | undefined;
  /** Further errors, which are reported after those of the values. */
  readonly others?: () => Iterable<FieldError>;
}

export interface CustomSchema {
  readonly structural: StructuralSchema;
  readonly struct: StructSchema;
  readonly hasDefaults: boolean;
  /**
   * Turns the object of a request into an object of this schema in place: coerces metadata and removes unknown fields,
   * but sets no defaults. Returns the paths of the unknown fields, for fieldValidation. Throws a TypeMismatchError if
   * metadata has the wrong type.
   */
  decode(object: JsonObject): string[];
  setDefaults(object: JsonObject): void;
  /**
   * Turns a stored or converted object into an object of this schema in place: removes unknown fields and sets
   * defaults. Returns true if the object has changed.
   */
  finish(object: JsonObject): boolean;
  /** Validates an object, except for its metadata, which is validated for every kind alike. */
  errors(object: JsonObject, options?: ErrorOptions): Generator<FieldError>;
  /** Validates an object on an update of its status. */
  statusErrors(object: JsonObject, options?: ErrorOptions): Generator<FieldError>;
}

/** The schema of a version without a schema: all fields are kept and nothing is validated. */
const ANYTHING: JsonObject = Object.freeze({ type: "object", "x-kubernetes-preserve-unknown-fields": true });

export function compileCustomSchema(openAPIV3Schema: JsonObject | undefined, parts: CustomSchemaParts): CustomSchema {
  return new CompiledSchema(openAPIV3Schema ?? ANYTHING, parts);
}

class CompiledSchema implements CustomSchema {
  readonly #parts: CustomSchemaParts;
  readonly #structural: () => StructuralSchema;
  readonly #struct: () => StructSchema;
  readonly #fill: () => ReturnType<typeof compileDefaults>;
  readonly #embedded: () => ReturnType<typeof compileEmbedded>;
  readonly #values: () => ReturnType<typeof compileValues>;
  readonly #statusValues: () => ReturnType<typeof compileValues> | undefined;
  readonly #listTypes: () => ReturnType<typeof compileListTypes>;
  readonly #rules: () => ReturnType<typeof compileRules>;

  constructor(source: JsonObject, parts: CustomSchemaParts) {
    const { name, metadata, gates } = parts;
    this.#parts = parts;
    this.#structural = parsedOnce(source);
    this.#struct = once(() => toStructSchema(this.structural, { name, metadata: metadata.struct }));
    this.#fill = once(() => compileDefaults(this.structural));
    this.#embedded = once(() => compileEmbedded(this.structural));
    this.#values = once(() => compileValues(this.structural, gates));
    this.#statusValues = once(() => {
      const status = this.structural.properties.get("status");
      return status === undefined ? undefined : compileValues(status, gates);
    });
    this.#listTypes = once(() => compileListTypes(this.structural));
    this.#rules = once(() => compileRules(this.structural));
  }

  get structural(): StructuralSchema {
    return this.#structural();
  }

  get struct(): StructSchema {
    return this.#struct();
  }

  get hasDefaults(): boolean {
    return this.#fill() !== undefined;
  }

  decode(object: JsonObject): string[] {
    const { metadata, preservesUnknown } = this.#parts;
    const unknownFields = [...coerceMetadata(object, metadata)];
    if (preservesUnknown !== true) {
      unknownFields.push(...pruneUnknown(object, this.structural, { isResourceRoot: true }));
      dropNulls(object, this.structural);
    }
    const embedded = this.#embedded();
    if (embedded !== undefined) unknownFields.push(...coerceEmbedded(object, embedded, metadata));
    return unknownFields;
  }

  setDefaults(object: JsonObject): void {
    this.#fill()?.(object);
  }

  finish(object: JsonObject): boolean {
    const { metadata, preservesUnknown } = this.#parts;
    let hasChanged = false;
    if (preservesUnknown !== true) {
      hasChanged = pruneUnknown(object, this.structural, { isResourceRoot: true }).length > 0;
      hasChanged = dropNulls(object, this.structural) || hasChanged;
    }
    const embedded = this.#embedded();
    if (embedded !== undefined) hasChanged = repairEmbedded(object, embedded, metadata) || hasChanged;
    return this.#fill()?.(object) === true || hasChanged;
  }

  *errors(object: JsonObject, { existing, others }: ErrorOptions = {}): Generator<FieldError> {
    const embedded = this.#embedded();
    const { metadata: type, metadataErrors } = this.#parts;
    yield* this.#withRules({ object, existing }, [
      () => this.#values()(object, { existing }),
      () => others?.() ?? [],
      () => (embedded === undefined ? [] : embeddedErrors(object, embedded, { type, metadataErrors })),
      () => this.#listTypeErrors(object, existing),
    ]);
  }

  *statusErrors(object: JsonObject, { existing, others }: ErrorOptions = {}): Generator<FieldError> {
    yield* this.#withRules({ object, existing }, [
      () => this.#statusValueErrors(object, existing),
      () => others?.() ?? [],
      () => this.#listTypeErrors(object, existing),
    ]);
  }

  #statusValueErrors(object: JsonObject, existing: JsonObject | undefined): readonly FieldError[] {
    if (!Object.hasOwn(object, "status")) return [];
    return this.#statusValues()?.(object["status"], { existing: existing?.["status"], field: "status" }) ?? [];
  }

  /**
   * Reports duplicate items of lists of type set and map. If the existing object has any duplicates, none are reported.
   */
  *#listTypeErrors(object: JsonObject, existing: JsonObject | undefined): Generator<FieldError> {
    const check = this.#listTypes();
    if (check === undefined) return;
    const errors = check(object, "");
    const first = errors.next();
    if (first.done === true || (existing !== undefined && check(existing, "").next().done !== true)) return;
    yield first.value;
    yield* errors;
  }

  /**
   * Yields the errors of the checks, then those of the CEL rules. The rules are not evaluated if a check found an error
   * that could make them fail, such as a wrong type.
   */
  *#withRules(
    { object, existing }: { readonly object: JsonObject; readonly existing: JsonObject | undefined },
    checks: readonly (() => Iterable<FieldError>)[],
  ): Generator<FieldError> {
    let isBlocked = false;
    for (const check of checks)
      for (const error of check()) {
        isBlocked ||= BLOCKING.has(error.reason);
        yield error;
      }
    const rules = this.#rules();
    if (rules === undefined) return;
    if (isBlocked)
      yield { field: NO_FIELD, reason: "FieldValueInvalid", message: `Invalid value: null: ${NOT_CHECKED}` };
    else {
      const isRatcheting = existing !== undefined && this.#parts.gates.isOn("CRDValidationRatcheting");
      yield* schemaRuleErrors({ rules, object, existing, path: "", isRatcheting });
    }
  }
}

const BLOCKING: ReadonlySet<CauseReason> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const NOT_CHECKED =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/** A separate function, because a closure in its caller would keep the source in memory. */
function parsedOnce(source: JsonObject): () => StructuralSchema {
  return once(() => parseStructural(source));
}

function once<Value>(make: () => Value): () => Value {
  let state: { readonly make: () => Value } | { readonly value: Value } = { make };
  return () => {
    if ("make" in state) state = { value: state.make() };
    return state.value;
  };
}
