/**
 * Checks tokens that were issued by TokenRequests. They are bound to a service account, and optionally to a pod, a node
 * or a Secret, and become invalid when one of these objects is deleted.
 */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { notFound } from "../../../meta/status-error.ts";
import { accountUser } from "./account-user.ts";
import { LEEWAY_MS, validityProblem, type BoundClaims, type ObjectClaim, type PublicClaims } from "./claims.ts";
import {
  NODES,
  PODS,
  SECRETS,
  SERVICE_ACCOUNTS,
  type Credential,
  type CredentialPlace,
  type Use,
} from "./credential.ts";

/** An object that must exist for the token to be valid. */
interface BoundObject extends CredentialPlace {
  readonly uid: string;
  readonly absent: string;
  readonly deleted: string;
  readonly replaced: (uid: string) => string;
}

const INVALIDATED = "service account token has been invalidated";
const STALE = "authentication.k8s.io/stale-token";

export function boundToken(given: PublicClaims, claims: BoundClaims): Credential {
  const bound = boundObjects(claims);
  const { namespace, serviceAccount, pod, node, warnAfter } = claims;
  return {
    user: accountUser({ namespace, serviceAccount, pod, node, tokenId: given.id }),
    places: bound,
    problemNow: (nowMs) => validityProblem(given, nowMs) ?? misplaced(claims),
    problemWith: (use) => firstProblem(bound, use),
    annotations({ nowMs }) {
      if (warnAfter === undefined || warnAfter === 0 || nowMs <= warnAfter * 1000) return {};
      const seconds = Math.floor(nowMs / 1000) - warnAfter;
      return { [STALE]: `subject: ${given.subject}, seconds after warning threshold: ${seconds}` };
    },
    warnings: () => [],
  };
}

/** The objects that the token is bound to, in the order in which they are checked. */
function boundObjects({ namespace, serviceAccount, secret, pod, node }: BoundClaims): BoundObject[] {
  const account = { resource: SERVICE_ACCOUNTS, namespace, ...serviceAccount };
  return [
    {
      ...account,
      absent: notFound(SERVICE_ACCOUNTS, account.name).message,
      deleted: `service account ${namespace}/${account.name} has been deleted`,
      replaced: (uid) => `service account UID (${uid}) does not match claim (${account.uid})`,
    },
    ...(secret === undefined ? [] : [boundTo("secret", { resource: SECRETS, namespace, ...secret })]),
    ...(pod === undefined ? [] : [boundTo("pod", { resource: PODS, namespace, ...pod })]),
    // The node claim of a token that is bound to a pod is only informational and not checked.
    ...(node === undefined || pod !== undefined ? [] : [boundTo("node", { resource: NODES, namespace: "", ...node })]),
  ];
}

function boundTo(kind: string, place: CredentialPlace & ObjectClaim): BoundObject {
  return {
    ...place,
    absent: INVALIDATED,
    deleted: INVALIDATED,
    replaced: (uid) => `${kind} UID (${uid}) does not match service account ${kind} ref claim (${place.uid})`,
  };
}

/** As kubernetes: an empty name or namespace in the claims is an error, because no object can have it. */
function misplaced({ namespace, serviceAccount }: BoundClaims): string | undefined {
  if (serviceAccount.name === "") return "resource name may not be empty";
  return namespace === "" ? "the server could not find the requested resource" : undefined;
}

function firstProblem(bound: readonly BoundObject[], { objects, nowMs }: Use): string | undefined {
  for (const [index, wanted] of bound.entries()) {
    const problem = problemOf(wanted, objects[index], nowMs);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf(wanted: BoundObject, object: JsonObject | undefined, nowMs: number): string | undefined {
  if (object === undefined) return wanted.absent;
  const metadata = objectAt(object, "metadata");
  const uid = stringAt(metadata, "uid");
  if (uid !== wanted.uid) return wanted.replaced(uid);
  const deleted = metadata["deletionTimestamp"] ?? undefined;
  // A deletionTimestamp that cannot be parsed counts as long past.
  const isOver = deleted !== undefined && !(Date.parse(String(deleted)) >= nowMs - LEEWAY_MS);
  return isOver ? wanted.deleted : undefined;
}
