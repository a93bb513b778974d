/** The port of authorization: decides whether a user may perform an action, and lists the rules of a user. */
import type { Authorizer } from "./authorize.ts";
import type { User } from "./user.ts";

/** A rule as SelfSubjectRulesReview lists it. */
interface ResourceRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface NonResourceRule {
  readonly verbs: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export interface RulesOf {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  /** True if the user may have more rules than are listed. */
  readonly incomplete: boolean;
  readonly evaluationError: string;
}

export interface Authorization {
  readonly authorize: Authorizer;
  /** The rules that apply to the user in this namespace. */
  rulesFor(user: User, namespace: string): RulesOf;
}
