/** Keeps the admission policies that have bindings, and finds those that may apply to a write. */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import type { Operation } from "../../../serving/registry/admission.ts";
import { type Criteria, readMatchResources } from "../matching/criteria.ts";
import { isSameRevision } from "../same-revision.ts";
import { type ParamKind, paramKindOf } from "./params.ts";

/** `Compiled` is the type of the compiled expressions, which differs between validating and mutating policies. */
export interface AdmissionPolicy<Compiled> {
  readonly name: string;
  /**
   * Undefined if matchConstraints are missing. Validation rejects such a policy, but an earlier server may have stored
   * it.
   */
  readonly criteria: Criteria | undefined;
  readonly paramKind: ParamKind | undefined;
  readonly isIgnoring: boolean;
  /** Compiles the expressions on the first call. */
  readonly compiled: () => Compiled;
}

export interface PolicyBinding {
  readonly name: string;
  readonly policyName: string;
  /** Undefined if the binding does not restrict the criteria of its policy. */
  readonly criteria: Criteria | undefined;
  readonly actions: readonly string[];
  readonly object: JsonObject;
}

export interface BoundPolicy<Compiled> {
  readonly policy: AdmissionPolicy<Compiled>;
  readonly bindings: readonly PolicyBinding[];
}

export interface PolicyTables<Compiled> {
  /** Policies of one kind, filled by a watch. */
  readonly policies: ObjectTable;
  /** Bindings of these policies, filled by a watch. */
  readonly bindings: ObjectTable;
  /**
   * The policies that may apply to a write, sorted by name. Selectors and groups are not evaluated yet, so not all of
   * them match.
   */
  candidates(operation: Operation, resource: string): readonly BoundPolicy<Compiled>[];
}

interface ParsedObject<T> {
  readonly object: JsonObject;
  readonly entry: T;
}

/** A table that parses each revision of an object once. */
class Table<T extends { readonly name: string }> implements ObjectTable {
  readonly #read: (object: JsonObject) => T;
  readonly #onChange: () => void;
  #entries = new Map<string, ParsedObject<T>>();

  constructor(read: (object: JsonObject) => T, onChange: () => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  /** All entries, sorted by name. */
  entries(): readonly T[] {
    return [...this.#entries.values()]
      .map(({ entry }) => entry)
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  reset(objects: readonly JsonObject[]): void {
    const before = this.#entries;
    this.#entries = new Map();
    for (const object of objects) this.#set(object, before);
    this.#onChange();
  }

  put(object: JsonObject): void {
    this.#set(object, this.#entries);
    this.#onChange();
  }

  remove(_namespace: string, name: string): void {
    this.#entries.delete(name);
    this.#onChange();
  }

  #set(object: JsonObject, known: ReadonlyMap<string, ParsedObject<T>>): void {
    const name = nameOf(object);
    const before = known.get(name);
    const isKnown = before !== undefined && isSameRevision(before.object, object);
    this.#entries.set(name, isKnown ? before : { object, entry: this.#read(object) });
  }
}

function nameOf(object: JsonObject): string {
  return stringAt(objectAt(object, "metadata"), "name");
}

function criteriaAt(spec: JsonObject, key: string): Criteria | undefined {
  const match = spec[key];
  return isJsonObject(match) ? readMatchResources(match) : undefined;
}

function readPolicy<Compiled>(
  policy: JsonObject,
  compile: (policy: JsonObject) => Compiled,
): AdmissionPolicy<Compiled> {
  const spec = objectAt(policy, "spec");
  let compiled: { readonly policy: Compiled } | undefined;
  return {
    name: nameOf(policy),
    criteria: criteriaAt(spec, "matchConstraints"),
    paramKind: paramKindOf(policy),
    isIgnoring: stringAt(spec, "failurePolicy") === "Ignore",
    compiled: () => (compiled ??= { policy: compile(policy) }).policy,
  };
}

function readBinding(binding: JsonObject): PolicyBinding {
  const spec = objectAt(binding, "spec");
  return {
    name: nameOf(binding),
    policyName: stringAt(spec, "policyName"),
    criteria: criteriaAt(spec, "matchResources"),
    actions: stringsAt(spec, "validationActions"),
    object: binding,
  };
}

function boundPolicies<Compiled>(
  policies: readonly AdmissionPolicy<Compiled>[],
  bindings: readonly PolicyBinding[],
): BoundPolicy<Compiled>[] {
  const byPolicy = new Map<string, PolicyBinding[]>();
  for (const binding of bindings) {
    const known = byPolicy.get(binding.policyName);
    if (known === undefined) byPolicy.set(binding.policyName, [binding]);
    else known.push(binding);
  }
  return policies.flatMap((policy) => {
    const bound = byPolicy.get(policy.name);
    return bound === undefined ? [] : [{ policy, bindings: bound }];
  });
}

/** Ignores API groups, because the same objects may be served under the same resource name in another group. */
function mayApply({ criteria }: AdmissionPolicy<unknown>, operation: Operation, resource: string): boolean {
  if (criteria?.rules === undefined) return true;
  return criteria.rules.some(
    ({ operations, resources }) =>
      (operations.has("*") || operations.has(operation)) &&
      resources.some(([named]) => named === "*" || named === resource),
  );
}

/**
 * The cache is cleared when it reaches this size; otherwise it would grow with every custom resource that ever existed.
 */
const REMEMBERED_MAX = 4096;

export function createPolicyTables<Compiled>(compile: (policy: JsonObject) => Compiled): PolicyTables<Compiled> {
  let bound: readonly BoundPolicy<Compiled>[] | undefined;
  const candidates = new Map<string, readonly BoundPolicy<Compiled>[]>();
  const onChange = (): void => {
    bound = undefined;
    candidates.clear();
  };
  const policies = new Table((object) => readPolicy(object, compile), onChange);
  const bindings = new Table(readBinding, onChange);
  return {
    policies,
    bindings,
    candidates(operation, resource) {
      const key = `${operation} ${resource}`;
      const known = candidates.get(key);
      if (known !== undefined) return known;
      bound ??= boundPolicies(policies.entries(), bindings.entries());
      const found = bound.filter(({ policy }) => mayApply(policy, operation, resource));
      if (candidates.size >= REMEMBERED_MAX) candidates.clear();
      candidates.set(key, found);
      return found;
    },
  };
}
