/**
 * Fields that a request names and this release does not know. Another server of the cluster may know them: then what
 * becomes of the request is not for field validation to say alone.
 */
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { GroupVersion } from "../../meta/group-version.ts";
import type { NamedField } from "../../objects/unknown-fields.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { EndpointCall } from "./endpoint.ts";

export interface NamedFields {
  /** Of the body, which is not that of the resource for some subresources. */
  readonly groupVersion: GroupVersion;
  readonly kind: string;
  readonly fields: readonly NamedField[];
  /** There are more of them than anybody looks at. */
  readonly isCut: boolean;
}

export type FieldLossVerdict =
  /** This server serves the request, as field validation has it; the client gets the warnings in any case. */
  | { readonly kind: "serve"; readonly warnings: readonly string[] }
  /** A peer serves the request, whose body has been read. */
  | { readonly kind: "forward"; readonly respond: (body: Buffer) => Promise<ApiResponse> };

/** Throws what the request is refused with. */
export type JudgeFieldLoss<Req> = (request: Req, named: NamedFields) => FieldLossVerdict;

/** In the place of a decoded body, a written object and a response: a peer responds, and nothing is written here. */
export type ForwardedRequest = Forwarded<ApiResponse>;

/** Returns warnings where this server serves the request. Throws what the request is rejected with. */
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

/** Nothing is lost of what this endpoint does not write whoever serves it. */
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
