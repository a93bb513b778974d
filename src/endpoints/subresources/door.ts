import type { ApiResponse } from "../../http/message.ts";
import { updateThrough, type SubresourceDoor } from "../../registry/subresources/door-update.ts";
import type { EndpointCall } from "../endpoint.ts";
import { getEndpoint } from "../get.ts";
import { writtenResponse } from "../render/respond.ts";
import { readWish } from "../write-wish.ts";

/** A subresource that shows the whole object and writes a part of it. */
export async function doorEndpoint(call: EndpointCall, door: SubresourceDoor): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  if (request.info.verb === "get") return getEndpoint(call);
  const wish = await readWish(call, served);
  const { namespace, name } = request.info;
  const written = await updateThrough(context, served, door, { ...wish, namespace, name });
  return writtenResponse(200, written, renderer, wish.warnings());
}
