import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { apply } from "../registry/apply.ts";
import type { Door } from "../registry/prepare.ts";
import { update, type Updated } from "../registry/update.ts";
import type { EndpointCall } from "./endpoint.ts";
import { BODY_BYTES_MAX } from "./limits.ts";
import { refusedResponse, writtenResponse } from "./render/respond.ts";
import { readWish } from "./write-wish.ts";

/** PUT and PATCH differ only in how they say what they want. */
export async function updateEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const wish = await readWish(call, call.served);
  try {
    const { written, isCreated } = await granted(call, wish);
    return writtenResponse(isCreated ? 201 : 200, written, call.renderer, wish.warnings());
  } catch (thrown) {
    return refusedResponse(thrown, wish.warnings());
  }
}

function granted(
  { context, served, request }: EndpointCall,
  wish: Awaited<ReturnType<typeof readWish>>,
): Promise<Updated> {
  const { namespace, name, verb } = request.info;
  const { manager, dryRun } = wish;
  const common = { manager, dryRun, namespace, name, door: doorOf(request), requester: request.user };
  if ("applied" in wish) {
    const { applied, force } = wish;
    return apply(context, served, { ...common, applied, force, bytesMax: BODY_BYTES_MAX });
  }
  return update(context, served, { ...common, next: wish.next, verb: verb === "patch" ? "patch" : "update" });
}

function doorOf({ info }: WithInfo): Door {
  return info.subresource === "status" ? "status" : info.subresource === "finalize" ? "finalize" : "main";
}
