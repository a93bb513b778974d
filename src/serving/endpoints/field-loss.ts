/**
 * Decides about fields of a request that this release does not know but a peer may know. Field validation alone does
 * not suffice: it would accept the request with a warning, and the fields would be lost.
 */
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { GroupVersion } from "../../meta/group-version.ts";
import type { NamedField } from "../../objects/unknown-fields.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { EndpointCall } from "./endpoint.ts";

export interface NamedFields {
  /** The group and version of the body, which differ from those of the resource for some subresources. */
  readonly groupVersion: GroupVersion;
  readonly kind: string;
  readonly fields: readonly NamedField[];
  /** True if the request has more unknown fields than `fields` lists. */
  readonly isCut: boolean;
}

export type FieldLossVerdict =
  /**
   * This server serves the request, and field validation applies. The client receives the warnings even with
   * fieldValidation=Ignore.
   */
  | { readonly kind: "serve"; readonly warnings: readonly string[] }
  /** A peer serves the request. `respond` receives the body, because it has already been read. */
  | { readonly kind: "forward"; readonly respond: (body: Buffer) => Promise<ApiResponse> };

/** Returns the verdict about a request with unknown fields, or throws the error with which the request is rejected. */
export type JudgeFieldLoss<Req> = (request: Req, named: NamedFields) => FieldLossVerdict;

/**
 * Returned instead of a decoded body, a written object or a response if a peer serves the request; nothing is written
 * here.
 */
export type ForwardedRequest = Forwarded<ApiResponse>;

/**
 * Returns warnings if this server serves the request, or a ForwardedRequest if a peer serves it. Throws the error with
 * which the request is rejected.
 */
export type JudgeFields = (of: {
  readonly served: ServedResource;
  readonly fields: readonly NamedField[];
  readonly isCut: boolean;
}) => readonly string[] | ForwardedRequest;

interface Judging extends Pick<EndpointCall, "fieldLoss"> {
  readonly request: WithInfo;
}

export function judgeOf({ fieldLoss, request }: Judging, body: Buffer): JudgeFields | undefined {
  if (fieldLoss === undefined) return undefined;
  return ({ served, fields, isCut }) => {
    const isWritten = writtenMembers(served, request.info);
    const lost = fields.filter(({ paths }) => isWritten(String(paths[0]![0])));
    if (lost.length === 0) return [];
    const { groupVersion, kind } = served;
    const verdict = fieldLoss({ groupVersion, kind, fields: lost, isCut });
    return verdict.kind === "forward" ? new Forwarded(() => verdict.respond(body)) : verdict.warnings;
  };
}

/**
 * Selects the top-level fields that this endpoint writes. The other fields are not lost, because no server would write
 * them.
 */
function writtenMembers(
  { stored, groupResource }: ServedResource,
  { resource, subresource }: WithInfo["info"],
): (member: string) => boolean {
  const { hasStatus } = stored.strategy;
  if (resource !== groupResource.resource) return () => true;
  switch (subresource) {
    case "":
      return (member) => member !== "status" || !hasStatus;
    case "status":
    case "approval":
      return (member) => member === "status" || member === "metadata";
    case "finalize":
    case "resize":
    case "ephemeralcontainers":
      return (member) => member === "spec";
    default:
      return () => true;
  }
}
