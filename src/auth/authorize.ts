import type { PassingFilter } from "../http/chain.ts";
import type { RequestInfo } from "../http/request-info.ts";
import { formatGroupResource } from "../meta/group-version.ts";
import { StatusError } from "../meta/status-error.ts";
import type { User, WithUser } from "./user.ts";

/** What somebody wants to do: a request, or what a review asks about. */
export type AccessAttributes = Pick<
  RequestInfo,
  "isResourceRequest" | "verb" | "group" | "version" | "namespace" | "resource" | "subresource" | "name" | "path"
>;

export interface Decision {
  readonly allowed: boolean;
  /** For the client. */
  readonly reason: string;
}

/** May this user do this? */
export type Authorizer = (user: User, asked: AccessAttributes) => Decision;

const YES: Decision = { allowed: true, reason: "" };
const NO: Decision = { allowed: false, reason: "" };

export function authorize(authorizer: Authorizer): PassingFilter<WithUser> {
  return (next) => async (request) => {
    const decision = authorizer(request.user, request.info);
    if (!decision.allowed) throw refusal(request.user, request.info, decision.reason);
    return next(request);
  };
}

const PUBLIC_PATHS: ReadonlySet<string> = new Set(["healthz", "livez", "readyz", "version"]);

/** Whoever is known may do everything; strangers may ask for health and version. */
export function allowAuthenticated(user: User, asked: AccessAttributes): Decision {
  if (user.groups.includes("system:authenticated")) return YES;
  return asked.verb === "get" && !asked.isResourceRequest && PUBLIC_PATHS.has(asked.path.split("/")[1] ?? "")
    ? YES
    : NO;
}

function refusal(user: User, info: RequestInfo, reason: string): StatusError {
  const who = sanitize(`User ${JSON.stringify(user.name)} cannot ${info.verb}`);
  const because = reason === "" ? "" : `: ${reason}`;
  if (!info.isResourceRequest) {
    return new StatusError("Forbidden", `forbidden: ${who} path ${sanitize(JSON.stringify(info.path))}${because}`, {
      details: {},
    });
  }
  const subject = formatGroupResource(info);
  const named = info.name === "" ? subject : `${subject} ${JSON.stringify(info.name)}`;
  const resource = info.subresource === "" ? info.resource : `${info.resource}/${info.subresource}`;
  // As kubernetes: a namespace is said to lie in itself.
  const namespace = info.resource === "namespaces" ? info.name : info.namespace;
  const scope = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const details = {
    ...(info.name === "" ? {} : { name: info.name }),
    ...(info.group === "" ? {} : { group: info.group }),
    kind: info.resource,
  };
  return new StatusError(
    "Forbidden",
    `${named} is forbidden: ${who} ${sanitize(`resource ${JSON.stringify(resource)} in API group ${JSON.stringify(info.group)} ${scope}`)}${because}`,
    { details },
  );
}

/** An error must never look like HTML; quotes are fine. */
function sanitize(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
