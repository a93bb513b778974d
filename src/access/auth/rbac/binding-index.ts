/** Indexes bindings by subject, so that a decision visits only the bindings of the user and its groups. */
import type { JsonObject } from "../../../meta/json.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import type { AuthorizationDecision } from "../authorize.ts";
import type { User } from "../user.ts";
import { groupOf, readBinding, userOf, type RbacBinding, type Subject } from "./bindings.ts";
import type { RoleIndex, RoleEntry } from "./role-index.ts";

export interface BoundRole {
  readonly binding: RbacBinding;
  readonly role: RoleEntry;
  /**
   * The cached decision to allow a request by this binding; undefined before its first use, or if its reason depends on
   * the user.
   */
  decision: AuthorizationDecision | undefined;
}

/** Bound roles by namespace. The key "" holds the roles of ClusterRoleBindings. */
type Grants = Map<string, Set<BoundRole>>;

export class BindingIndex {
  readonly #roles: RoleIndex;
  readonly #users = new Map<string, Grants>();
  readonly #groups = new Map<string, Grants>();

  constructor(roles: RoleIndex) {
    this.#roles = roles;
  }

  table(kind: "RoleBinding" | "ClusterRoleBinding"): ObjectTable {
    const isNamespaced = kind === "RoleBinding";
    const known = new Map<string, BoundRole>();
    const remove = (key: string): void => {
      const bound = known.get(key);
      if (bound !== undefined) this.#remove(bound);
      known.delete(key);
    };
    const put = (object: JsonObject): void => {
      const binding = readBinding(object, isNamespaced);
      // Without this check, a RoleBinding without a namespace would apply to the whole cluster.
      if (isNamespaced && binding.namespace === "") return;
      const key = `${binding.namespace}/${binding.name}`;
      remove(key);
      known.set(key, this.#add(binding));
    };
    return {
      reset(objects) {
        for (const key of [...known.keys()]) remove(key);
        for (const object of objects) put(object);
      },
      put,
      remove: (namespace, name) => remove(`${isNamespaced ? namespace : ""}/${name}`),
    };
  }

  /** The first binding of the user that `isWanted` accepts; cluster-wide bindings come first. */
  find(user: User, namespace: string, isWanted: (bound: BoundRole) => boolean): BoundRole | undefined {
    const everywhere = this.#findIn(user, "", isWanted);
    return everywhere !== undefined || namespace === "" ? everywhere : this.#findIn(user, namespace, isWanted);
  }

  /**
   * All bindings of the user without duplicates: first ClusterRoleBindings, then RoleBindings of the namespace, both
   * sorted by name.
   */
  inOrder(user: User, namespace: string): BoundRole[] {
    const found = new Set<BoundRole>();
    this.find(user, namespace, (bound) => {
      found.add(bound);
      return false;
    });
    return [...found].sort(
      ({ binding: left }, { binding: right }) =>
        compare(left.namespace, right.namespace) || compare(left.name, right.name),
    );
  }

  #findIn(user: User, namespace: string, isWanted: (bound: BoundRole) => boolean): BoundRole | undefined {
    const own = firstWanted(this.#users.get(user.name)?.get(namespace), isWanted);
    if (own !== undefined) return own;
    for (const group of user.groups) {
      const shared = firstWanted(this.#groups.get(group)?.get(namespace), isWanted);
      if (shared !== undefined) return shared;
    }
    return undefined;
  }

  #add(binding: RbacBinding): BoundRole {
    const role = this.#roles.acquire(binding.roleRef, binding.namespace);
    const bound: BoundRole = { binding, role, decision: undefined };
    for (const subject of binding.subjects) {
      const [grants, name] = this.#placeOf(subject);
      if (grants !== undefined) addGrant(grants, name, bound);
    }
    return bound;
  }

  #remove(bound: BoundRole): void {
    const { binding, role } = bound;
    for (const subject of binding.subjects) {
      const [grants, name] = this.#placeOf(subject);
      if (grants !== undefined) removeGrant(grants, name, bound);
    }
    this.#roles.release(role, binding.namespace);
  }

  #placeOf(subject: Subject): [grants: Map<string, Grants> | undefined, name: string] {
    const group = groupOf(subject);
    if (group !== undefined) return [this.#groups, group];
    const user = userOf(subject);
    return user === undefined ? [undefined, ""] : [this.#users, user];
  }
}

function firstWanted(
  roles: ReadonlySet<BoundRole> | undefined,
  isWanted: (bound: BoundRole) => boolean,
): BoundRole | undefined {
  if (roles === undefined) return undefined;
  for (const bound of roles) if (isWanted(bound)) return bound;
  return undefined;
}

function addGrant(to: Map<string, Grants>, name: string, bound: BoundRole): void {
  const { namespace } = bound.binding;
  const grants = to.get(name);
  const here = grants?.get(namespace);
  if (grants === undefined) to.set(name, new Map([[namespace, new Set([bound])]]));
  else if (here === undefined) grants.set(namespace, new Set([bound]));
  else here.add(bound);
}

/** Also removes maps that become empty, so that the index does not grow. */
function removeGrant(from: Map<string, Grants>, name: string, bound: BoundRole): void {
  const { namespace } = bound.binding;
  const grants = from.get(name);
  const here = grants?.get(namespace);
  here?.delete(bound);
  if (here?.size === 0) grants?.delete(namespace);
  if (grants?.size === 0) from.delete(name);
}

function compare(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
