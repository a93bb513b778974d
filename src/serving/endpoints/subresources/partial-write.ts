/** Serves the subresources that write a part of the stored object: ephemeralcontainers, resize and approval. */
import { appliedTo } from "../../registry/apply.ts";
import { Forwarded } from "../../registry/forwarded-request.ts";
import { updateThrough, type SubresourceStrategy } from "../../registry/subresources/partial-update.ts";
import type { RequestedApply } from "../apply.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import { getEndpoint } from "../get.ts";
import { BODY_BYTES_MAX } from "../endpoint-limits.ts";
import { writtenResponse } from "../render/respond.ts";
import { updateAdmission } from "../update.ts";
import { readRequestedWrite, type RequestedWrite } from "../write-options.ts";

/** Serves a subresource that returns the whole object and writes a part of it. */
export async function subresourceWriteEndpoint(
  call: EndpointCall,
  strategy: SubresourceStrategy,
): Promise<EndpointResponse> {
  const { context, served, renderer, request } = call;
  if (request.info.verb === "get") return getEndpoint(call);
  const requested = await readRequestedWrite(call, served);
  const { namespace, name } = request.info;
  const { manager, dryRun } = requested;
  const next = "applied" in requested ? applied(call, requested) : requested.next;
  const written = await updateThrough(context, served, strategy, {
    manager,
    dryRun,
    next,
    namespace,
    name,
    isApply: "applied" in requested,
    admission: updateAdmission(call, served, requested),
  });
  if (written instanceof Forwarded) return written;
  return writtenResponse(200, written, renderer, requested.warnings());
}

function applied({ context, served, request }: EndpointCall, requested: RequestedApply): RequestedWrite["next"] {
  const { manager, force } = requested;
  return (existing) => {
    const body = requested.applied();
    if (body instanceof Forwarded) return body;
    return appliedTo(context, served, {
      existing,
      applied: body,
      manager,
      force,
      subresource: request.info.subresource,
      resetFields: [],
      bytesMax: BODY_BYTES_MAX,
    });
  };
}
