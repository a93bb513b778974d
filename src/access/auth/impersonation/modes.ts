/**
 * The impersonation modes of KEP-5284. Each mode is a set of permissions that allows a requester to impersonate a user.
 */
import type { StatusError } from "../../../meta/status-error.ts";
import { forbiddenError, type AccessAttributes, type Authorizer } from "../authorize.ts";
import type { User } from "../user.ts";
import { withImpliedGroups, fieldsDenial, type FieldRules } from "./field-checks.ts";
import { nodeOfUsername, serviceAccountOf } from "./usernames.ts";

/** One request to impersonate a user. */
export interface Attempt {
  readonly authorizer: Authorizer;
  readonly requester: User;
  readonly access: AccessAttributes;
  readonly wanted: User;
}

export interface Impersonated {
  readonly user: User;
  /** The verb that allowed the impersonation, for the audit event; empty in the unconstrained mode. */
  readonly constraint: string;
}

/** Returns undefined if the mode does not apply to the wanted user. */
export type Mode = (attempt: Attempt) => Impersonated | StatusError | undefined;

const ORDER = ["username", "uid", "groups", "extra"] as const;

/** The modes since 1.36, in the order in which they are tried. */
export const MODES: readonly Mode[] = [
  associatedNode(),
  constrained("arbitrary-node", ({ wanted }) => isOnlyNamed(wanted) && nodeOfUsername(wanted.name) !== undefined),
  constrained("serviceaccount", ({ wanted }) => isOnlyNamed(wanted) && serviceAccountOf(wanted.name) !== undefined),
  constrained(
    "user-info",
    ({ wanted }) => nodeOfUsername(wanted.name) === undefined && serviceAccountOf(wanted.name) === undefined,
  ),
  unconstrained(ORDER),
];

/** The only mode before 1.36. */
export const MODES_BEFORE_1_36: readonly Mode[] = [unconstrained(["username", "groups", "extra", "uid"])];

function unconstrained(order: FieldRules["order"]): Mode {
  return (attempt) => withFields(attempt, { verb: "impersonate", subjectsGroup: "", isConstrained: false, order }, "");
}

/** A mode that also checks whether the requester may perform the requested action while impersonating. */
function constrained(
  mode: string,
  isFor: (attempt: Attempt) => boolean,
  special: Pick<FieldRules, "isForAnyNode"> = {},
): Mode {
  const verb = `impersonate:${mode}`;
  const rules = { verb, subjectsGroup: "authentication.k8s.io", isConstrained: true, order: ORDER, ...special };
  return (attempt) => {
    if (!isFor(attempt)) return undefined;
    const { access } = attempt;
    const acting: AccessAttributes = { ...access, verb: `impersonate-on:${mode}:${access.verb}` };
    return denialOf(attempt, acting) ?? withFields(attempt, rules, verb);
  };
}

function withFields(attempt: Attempt, rules: FieldRules, constraint: string): Impersonated | StatusError {
  const { requester, wanted } = attempt;
  const rejected = fieldsDenial(wanted, rules, (access, problem) =>
    problem === undefined ? denialOf(attempt, access) : forbiddenError(requester, access, problem),
  );
  return rejected ?? { user: withImpliedGroups(wanted, rules.isConstrained), constraint };
}

function denialOf({ authorizer, requester }: Attempt, asked: AccessAttributes): StatusError | undefined {
  const { allowed, reason } = authorizer(requester, asked);
  return allowed ? undefined : forbiddenError(requester, asked, reason);
}

const NODE_NAME_KEY = "authentication.kubernetes.io/node-name";
const ASSOCIATED_KEYS = "authentication.kubernetes.io/associated-node-keys";

/**
 * Allows the service account of a pod to impersonate the node that runs the pod. The required permission is for all
 * nodes.
 */
function associatedNode(): Mode {
  const onAnyNode = constrained("associated-node", () => true, { isForAnyNode: true });
  return (attempt) => {
    if (!isOnOwnNode(attempt)) return undefined;
    const { requester } = attempt;
    const extra = { [ASSOCIATED_KEYS]: Object.keys(requester.extra).sort() };
    return onAnyNode({ ...attempt, requester: { ...requester, extra } });
  };
}

function isOnOwnNode({ wanted, requester }: Attempt): boolean {
  const node = nodeOfUsername(wanted.name);
  if (!isOnlyNamed(wanted) || node === undefined || serviceAccountOf(requester.name) === undefined) return false;
  const names = Object.hasOwn(requester.extra, NODE_NAME_KEY) ? (requester.extra[NODE_NAME_KEY] ?? []) : [];
  return names.length === 1 && names[0] === node;
}

function isOnlyNamed({ uid, groups, extra }: User): boolean {
  return uid === "" && groups.length === 0 && Object.keys(extra).length === 0;
}
