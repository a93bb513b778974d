/** Everything a server can be asked about access. */
import type { Authorizer } from "./authorize.ts";
import type { User } from "./user.ts";

/** As SelfSubjectRulesReview lists them. */
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
  /** There may be more than is listed. */
  readonly incomplete: boolean;
  readonly evaluationError: string;
}

export interface Authorization {
  readonly authorize: Authorizer;
  /** What the user may do in the namespace. */
  rulesFor(user: User, namespace: string): RulesOf;
}
