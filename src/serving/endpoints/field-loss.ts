/**
 * Decides about fields in a request that this release does not know but a peer may know. Field validation alone cannot
 * decide, because serving the request here would lose the fields.
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
  /** True if there are more fields than are listed. */
  readonly isCut: boolean;
}

export type FieldLossVerdict =
  /** This server serves the request according to field validation; the client receives the warnings in any case. */
  | { readonly kind: "serve"; readonly warnings: readonly string[] }
  /** A peer serves the request, whose body has already been read. */
  | { readonly kind: "forward"; readonly respond: (body: Buffer) => Promise<ApiResponse> };

/** Throws the error with which the request is rejected. */
export type JudgeFieldLoss<Req> = (request: Req, named: NamedFields) => FieldLossVerdict;

/** Takes the place of a decoded body, a written object and a response: a peer responds, and nothing is written here. */
export type ForwardedRequest = Forwarded<ApiResponse>;

/** Returns warnings if this server serves the request. Throws the error with which the request is rejected. */
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

/** Fields that this endpoint does not write are not lost, whichever server serves the request. */
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
