/** Indexes roles by reference. The index also contains roles that a binding refers to but that do not exist. */
import { goQuote } from "../../../meta/go-quote.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import type { RoleRef } from "./bindings.ts";
import { policyRules, RBAC_GROUP, type PolicyRule } from "./policy-rule.ts";
import { compilePolicyRules, type RuleMatcher } from "./rule-matcher.ts";

/**
 * A role that bindings refer to or that exists. Bindings hold the entry, so they see when the role is created, changed
 * or deleted.
 */
export class RoleEntry {
  readonly ref: RoleRef;
  /** The number of bindings that refer to the role. */
  bindingCount = 0;
  /** The number of the last decision that checked the role. */
  lastDecision = 0;
  #rules: readonly PolicyRule[] | undefined;
  #matcher: RuleMatcher | undefined;

  constructor(ref: RoleRef) {
    this.ref = ref;
  }

  /** Undefined while the role does not exist. */
  get rules(): readonly PolicyRule[] | undefined {
    return this.#rules;
  }

  set rules(rules: readonly PolicyRule[] | undefined) {
    this.#rules = rules;
    this.#matcher = undefined;
  }

  get matcher(): RuleMatcher | undefined {
    if (this.#rules === undefined) return undefined;
    return (this.#matcher ??= compilePolicyRules(this.#rules));
  }
}

/** The authorizer's message for a reference to a missing role. */
export function unresolvedText({ kind, name }: RoleRef): string {
  return kind === "Role" || kind === "ClusterRole"
    ? `${kind.toLowerCase()}.${RBAC_GROUP} ${goQuote(name)} not found`
    : `unsupported role reference kind: ${goQuote(kind)}`;
}

export class RoleIndex {
  readonly #entries = new Map<string, RoleEntry>();

  /** The rules of the role in the cache; undefined if the cache does not contain the role. */
  find(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined {
    return this.#entries.get(keyOf(ref, namespace))?.rules;
  }

  /** Returns the entry of a role, which a binding must later release. */
  acquire(ref: RoleRef, namespace: string): RoleEntry {
    const entry = this.#entryOf(ref, namespace);
    entry.bindingCount += 1;
    return entry;
  }

  release(entry: RoleEntry, namespace: string): void {
    entry.bindingCount -= 1;
    this.#forgetIfUnused(entry, namespace);
  }

  /** The table for Roles or ClusterRoles; a watch fills it. */
  table(kind: "Role" | "ClusterRole"): ObjectTable {
    const known = new Map<string, { readonly namespace: string; readonly name: string }>();
    const put = (role: JsonObject): void => {
      const metadata = objectAt(role, "metadata");
      const namespace = kind === "Role" ? stringAt(metadata, "namespace") : "";
      const name = stringAt(metadata, "name");
      // Without this check, a ClusterRoleBinding could refer to a Role without a namespace.
      if (kind === "Role" && namespace === "") return;
      known.set(`${namespace}/${name}`, { namespace, name });
      this.#entryOf({ kind, name }, namespace).rules = policyRules(role);
    };
    const remove = (namespace: string, name: string): void => {
      if (!known.delete(`${namespace}/${name}`)) return;
      const entry = this.#entryOf({ kind, name }, namespace);
      entry.rules = undefined;
      this.#forgetIfUnused(entry, namespace);
    };
    return {
      reset(roles) {
        for (const { namespace, name } of [...known.values()]) remove(namespace, name);
        for (const role of roles) put(role);
      },
      put,
      remove: (namespace, name) => remove(kind === "Role" ? namespace : "", name),
    };
  }

  #entryOf(ref: RoleRef, namespace: string): RoleEntry {
    const key = keyOf(ref, namespace);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry = new RoleEntry({ kind: ref.kind, name: ref.name });
    this.#entries.set(key, entry);
    return entry;
  }

  #forgetIfUnused(entry: RoleEntry, namespace: string): void {
    if (entry.bindingCount === 0 && entry.rules === undefined) this.#entries.delete(keyOf(entry.ref, namespace));
  }
}

function keyOf({ kind, name }: RoleRef, namespace: string): string {
  return JSON.stringify([kind, kind === "Role" ? namespace : "", name]);
}
