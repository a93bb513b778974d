import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { Door } from "../registry/prepare.ts";
import { update } from "../registry/update.ts";
import type { EndpointCall } from "./endpoint.ts";
import { writtenResponse } from "./render/respond.ts";
import { readWish } from "./write-wish.ts";

/** PUT and PATCH differ only in how they say what they want. */
export async function updateEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  const { namespace, name, verb } = request.info;
  const { warnings, ...wish } = await readWish(call, served);
  const { written, isCreated } = await update(context, served, {
    ...wish,
    namespace,
    name,
    door: doorOf(request),
    verb: verb === "patch" ? "patch" : "update",
  });
  return writtenResponse(isCreated ? 201 : 200, written, renderer, warnings());
}

function doorOf({ info }: WithInfo): Door {
  return info.subresource === "status" ? "status" : info.subresource === "finalize" ? "finalize" : "main";
}
