/** May you: the last question before a request is served. */
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { parseFieldSelector, requiredValue } from "../../meta/field-selector.ts";
import { goQuote } from "../../meta/go-quote.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { pathSegmentErrors } from "../../meta/names.ts";
import { StatusError } from "../../meta/status-error.ts";
import { AUTHENTICATED, type User, type WithUser } from "./user.ts";

/** What somebody wants to do: a request, or what a review asks about. */
export type AccessAttributes = Pick<
  RequestInfo,
  "isResourceRequest" | "verb" | "group" | "version" | "namespace" | "resource" | "subresource" | "name" | "path"
>;

export interface AuthorizationDecision {
  readonly allowed: boolean;
  /** For the client. */
  readonly reason: string;
}

/** May this user do this? */
export type Authorizer = (user: User, asked: AccessAttributes) => AuthorizationDecision;

/** Resolves when this server knows what the store held when it was called. */
export type CatchUp = (signal: AbortSignal) => Promise<void>;

/** A promise where the answer waits for news. */
type FreshAuthorizer = (
  user: User,
  asked: AccessAttributes,
  signal: AbortSignal,
) => AuthorizationDecision | Promise<AuthorizationDecision>;

interface AuthorizeOptions {
  /** Absent: what this server knows is all there is. */
  readonly catchUp?: CatchUp | undefined;
  /** For whoever keeps a record. */
  readonly onDecision?: ((request: WithUser, decision: AuthorizationDecision) => void) | undefined;
}

const YES: AuthorizationDecision = { allowed: true, reason: "" };
const NO: AuthorizationDecision = { allowed: false, reason: "" };

export function authorize(authorizer: Authorizer, options: AuthorizeOptions = {}): PassingFilter<WithUser> {
  const decide = freshAuthorizer(authorizer, options.catchUp);
  const { onDecision } = options;
  return (next) => async (request) => {
    const asked = accessOf(request);
    const given = decide(request.user, asked, request.signal);
    const decision = given instanceof Promise ? await given : given;
    onDecision?.(request, decision);
    if (!decision.allowed) throw refusal(request.user, asked, decision.reason);
    return next(request);
  };
}

/**
 * DIFFERS: before somebody known is refused, the newest is looked at: a right that was granted through another server is
 * a right. Strangers make nobody wait.
 */
export function freshAuthorizer(authorizer: Authorizer, catchUp: CatchUp | undefined): FreshAuthorizer {
  if (catchUp === undefined) return authorizer;
  return (user, asked, signal) => {
    const decision = authorizer(user, asked);
    if (decision.allowed || !user.groups.includes(AUTHENTICATED)) return decision;
    return caughtUp(catchUp, signal).then(() => authorizer(user, asked));
  };
}

/** Whoever cannot catch up decides by what it knows. */
export async function caughtUp(catchUp: CatchUp, signal: AbortSignal): Promise<void> {
  try {
    await catchUp(signal);
  } catch {
    // The decision that follows is the one that was made before.
  }
}

/** Who may update may still not create: asked when a PUT or an apply finds nothing. Throws the refusal. */
export function authorizeCreateOnUpdate(
  authorizer: Authorizer,
  catchUp?: CatchUp,
): (request: WithUser) => Promise<void> {
  const decide = freshAuthorizer(authorizer, catchUp);
  return async (request) => {
    const asked: AccessAttributes = { ...accessOf(request), verb: "create" };
    const { allowed, reason } = await decide(request.user, asked, request.signal);
    if (!allowed) throw refusal(request.user, asked, reason);
  };
}

/** As kubernetes: a namespace lies in itself, and who selects one object by its name asks for that object. */
export function accessOf({ info, query }: Pick<WithInfo, "info" | "query">): AccessAttributes {
  if (!info.isResourceRequest) return info;
  if (info.resource === "namespaces" && info.name !== "") return { ...info, namespace: info.name };
  if (info.name !== "" || (info.verb !== "list" && info.verb !== "watch") || isOldWatchPath(info)) return info;
  const name = selectedName(query.get("fieldSelector") ?? "");
  return name === "" ? info : { ...info, name };
}

function isOldWatchPath({ apiPrefix, segments }: RequestInfo): boolean {
  const head = apiPrefix === "api" ? 2 : 3;
  return segments[head] === "watch" && segments.length > head + 1;
}

/** What Go would not have read in a query: an aggregated server would see no selector where this one sees a name. */
const NOT_IN_GO = /[;%]/;

function selectedName(fieldSelector: string): string {
  if (fieldSelector === "" || NOT_IN_GO.test(fieldSelector)) return "";
  try {
    const name = requiredValue(parseFieldSelector(fieldSelector), "metadata.name") ?? "";
    return pathSegmentErrors(name).length === 0 ? name : "";
  } catch {
    // What cannot be read selects nothing; whoever may list is told so.
    return "";
  }
}

const PUBLIC_PATHS: ReadonlySet<string> = new Set(["healthz", "livez", "readyz", "version"]);

/** Whoever is known may do everything; strangers may ask for health and version. */
export function allowAuthenticated(user: User, asked: AccessAttributes): AuthorizationDecision {
  if (user.groups.includes(AUTHENTICATED)) return YES;
  return asked.verb === "get" && !asked.isResourceRequest && PUBLIC_PATHS.has(asked.path.split("/")[1] ?? "")
    ? YES
    : NO;
}

export function refusal(user: User, asked: AccessAttributes, reason: string): StatusError {
  const because = reason === "" ? "" : `: ${reason}`;
  const { group, resource, name } = asked;
  const why = `${sanitize(describe(user, asked))}${because}`;
  if (!asked.isResourceRequest) return new StatusError("Forbidden", `forbidden: ${why}`, { details: {} });
  const about = { ...(name === "" ? {} : { name }), ...(group === "" ? {} : { group }) };
  if (resource === "") return new StatusError("Forbidden", `forbidden: ${why}`, { details: about });
  const subject = formatGroupResource(asked);
  const named = name === "" ? subject : `${subject} ${goQuote(name)}`;
  return new StatusError("Forbidden", `${named} is forbidden: ${why}`, { details: { ...about, kind: resource } });
}

function describe(user: User, asked: AccessAttributes): string {
  const who = `User ${goQuote(user.name)} cannot ${asked.verb}`;
  if (!asked.isResourceRequest) return `${who} path ${goQuote(asked.path)}`;
  const { group, namespace, subresource } = asked;
  const resource = subresource === "" ? asked.resource : `${asked.resource}/${subresource}`;
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${goQuote(resource)} in API group ${goQuote(group)} ${scope}`;
}

/** An error must never look like HTML; quotes are fine. */
function sanitize(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
