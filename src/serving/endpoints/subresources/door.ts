import type { ApiResponse } from "../../http/message.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { appliedTo } from "../../registry/apply.ts";
import { updateThrough, type SubresourceDoor } from "../../registry/subresources/door-update.ts";
import type { ApplyWish } from "../apply.ts";
import type { EndpointCall } from "../endpoint.ts";
import { getEndpoint } from "../get.ts";
import { BODY_BYTES_MAX } from "../endpoint-limits.ts";
import { writtenResponse } from "../render/respond.ts";
import { updateAdmission } from "../update.ts";
import { readWish } from "../write-wish.ts";

/** A subresource that shows the whole object and writes a part of it. */
export async function doorEndpoint(call: EndpointCall, door: SubresourceDoor): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  if (request.info.verb === "get") return getEndpoint(call);
  const wish = await readWish(call, served);
  const { namespace, name } = request.info;
  const { manager, dryRun } = wish;
  const next = "applied" in wish ? applied(call, wish) : wish.next;
  const written = await updateThrough(context, served, door, {
    manager,
    dryRun,
    next,
    namespace,
    name,
    isApply: "applied" in wish,
    admission: updateAdmission(call, served, wish),
  });
  return writtenResponse(200, written, renderer, wish.warnings());
}

function applied({ context, served, request }: EndpointCall, wish: ApplyWish): (existing: JsonObject) => JsonObject {
  const { manager, force } = wish;
  return (existing) =>
    appliedTo(context, served, {
      existing,
      applied: wish.applied(),
      manager,
      force,
      subresource: request.info.subresource,
      resetFields: [],
      bytesMax: BODY_BYTES_MAX,
    });
}
