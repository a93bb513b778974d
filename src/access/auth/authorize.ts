/** The authorization filter: rejects requests that the user is not allowed to make. */
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { parseFieldSelector, requiredValue } from "../../meta/field-selector.ts";
import { goQuote } from "../../meta/go-quote.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { pathSegmentErrors } from "../../meta/names.ts";
import { forbidden, StatusError } from "../../meta/status-error.ts";
import { AUTHENTICATED, type User, type WithUser } from "./user.ts";

/** The attributes of an action: those of a request, or those that an access review asks about. */
export type AccessAttributes = Pick<
  RequestInfo,
  "isResourceRequest" | "verb" | "group" | "version" | "namespace" | "resource" | "subresource" | "name" | "path"
>;

export interface AuthorizationDecision {
  readonly allowed: boolean;
  /** The reason that the client receives. */
  readonly reason: string;
}

/** Decides whether the user may perform the action. */
export type Authorizer = (user: User, asked: AccessAttributes) => AuthorizationDecision;

/** Resolves when this server has caught up with the revision that the store had at the time of the call. */
export type CatchUp = (signal: AbortSignal) => Promise<void>;

/** An authorizer that may catch up with the store first; it then returns a promise. */
type FreshAuthorizer = (
  user: User,
  asked: AccessAttributes,
  signal: AbortSignal,
) => AuthorizationDecision | Promise<AuthorizationDecision>;

interface AuthorizeOptions {
  /** If absent, only the local cache decides. */
  readonly catchUp?: CatchUp | undefined;
  /** Called with every decision, for the audit event. */
  readonly onDecision?: ((request: WithUser, decision: AuthorizationDecision) => void) | undefined;
}

const YES: AuthorizationDecision = { allowed: true, reason: "" };
const NO: AuthorizationDecision = { allowed: false, reason: "" };

export function authorize(authorizer: Authorizer, options: AuthorizeOptions = {}): PassingFilter<WithUser> {
  const decide = freshAuthorizer(authorizer, options.catchUp);
  const { onDecision } = options;
  const denial = (request: WithUser, asked: AccessAttributes, decision: AuthorizationDecision): Error | undefined => {
    onDecision?.(request, decision);
    return decision.allowed ? undefined : forbiddenError(request.user, asked, decision.reason);
  };
  return (next) => {
    const conclude = (
      request: Parameters<typeof next>[0],
      asked: AccessAttributes,
      decision: AuthorizationDecision,
    ): Promise<ApiResponse> => {
      const denied = denial(request, asked, decision);
      return denied === undefined ? next(request) : Promise.reject(denied);
    };
    return (request) => {
      const asked = accessOf(request);
      const given = decide(request.user, asked, request.signal);
      if (given instanceof Promise) return given.then((decision) => conclude(request, asked, decision));
      return conclude(request, asked, given);
    };
  };
}

/**
 * DIFFERS: before it denies an authenticated user, the server catches up with the store, because the permission may
 * just have been granted through another server. Anonymous requests are denied at once.
 */
export function freshAuthorizer(authorizer: Authorizer, catchUp: CatchUp | undefined): FreshAuthorizer {
  if (catchUp === undefined) return authorizer;
  return (user, asked, signal) => {
    const decision = authorizer(user, asked);
    if (decision.allowed || !user.groups.includes(AUTHENTICATED)) return decision;
    return tryCatchUp(catchUp, signal).then(() => authorizer(user, asked));
  };
}

/** Catches up with the store and ignores errors, because the local cache can decide anyway. */
export async function tryCatchUp(catchUp: CatchUp, signal: AbortSignal): Promise<void> {
  try {
    await catchUp(signal);
  } catch {
    // The caller then decides from the unchanged local cache.
  }
}

/**
 * Authorizes the verb create when a PUT or an apply finds no object, because permission to update does not include
 * permission to create. Throws if create is denied.
 */
export function authorizeCreateOnUpdate(
  authorizer: Authorizer,
  catchUp?: CatchUp,
): (request: WithUser) => Promise<void> {
  const decide = freshAuthorizer(authorizer, catchUp);
  return async (request) => {
    const asked: AccessAttributes = { ...accessOf(request), verb: "create" };
    const { allowed, reason } = await decide(request.user, asked, request.signal);
    if (!allowed) throw forbiddenError(request.user, asked, reason);
  };
}

const UNSAFE_DELETE = "unsafe-delete-ignore-read-errors";

/** Authorizes the deletion of an object that cannot be read, in addition to the verb delete. Throws if it is denied. */
export function authorizeUnsafeDeletion(
  authorizer: Authorizer,
  catchUp?: CatchUp,
): (request: WithUser) => Promise<void> {
  const decide = freshAuthorizer(authorizer, catchUp);
  return async (request) => {
    const asked: AccessAttributes = { ...accessOf(request), verb: UNSAFE_DELETE };
    const { allowed, reason } = await decide(request.user, asked, request.signal);
    if (!allowed) throw forbidden(asked, asked.name, `not permitted to do "${UNSAFE_DELETE}", reason: ${reason}`);
  };
}

/**
 * As kubernetes: a namespace object is authorized in its own namespace, and a list or watch that selects one
 * metadata.name is authorized by that name.
 */
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

/**
 * Characters that Go rejects in a query. An aggregated API server would ignore a selector with them, so this server
 * must not derive a name from it.
 */
const REJECTED_BY_GO = /[;%]/;

function selectedName(fieldSelector: string): string {
  if (fieldSelector === "" || REJECTED_BY_GO.test(fieldSelector)) return "";
  try {
    const name = requiredValue(parseFieldSelector(fieldSelector), "metadata.name") ?? "";
    return pathSegmentErrors(name).length === 0 ? name : "";
  } catch {
    // An invalid selector selects no name. If the request is allowed, the list handler rejects the selector.
    return "";
  }
}

const PUBLIC_PATHS: ReadonlySet<string> = new Set(["healthz", "livez", "readyz", "version"]);

/** Allows everything to authenticated users, and only the health and version paths to anonymous users. */
export function allowAuthenticated(user: User, asked: AccessAttributes): AuthorizationDecision {
  if (user.groups.includes(AUTHENTICATED)) return YES;
  return asked.verb === "get" && !asked.isResourceRequest && PUBLIC_PATHS.has(asked.path.split("/")[1] ?? "")
    ? YES
    : NO;
}

export function forbiddenError(user: User, asked: AccessAttributes, reason: string): StatusError {
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

/** Escapes HTML, so that a browser never renders markup from an error message. Quotes need no escaping. */
function sanitize(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
