import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { Door } from "../registry/prepare.ts";
import { update } from "../registry/update.ts";
import { decodeObject, warningHeaders } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { writeOptions } from "./options.ts";
import { writtenResponse } from "./render/respond.ts";

export async function updateEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  const { dryRun, fieldValidation, manager } = writeOptions(request, "UpdateOptions");
  const { object, warnings } = await decodeObject(call, fieldValidation);
  const { namespace, name } = request.info;
  const { written, isCreated } = await update(context, served, { namespace, name, manager, dryRun, door: doorOf(request), verb: "update", next: () => object });
  return writtenResponse(isCreated ? 201 : 200, written, renderer, warningHeaders(warnings));
}

export function doorOf({ info }: WithInfo): Door {
  return info.subresource === "status" ? "status" : info.subresource === "finalize" ? "finalize" : "main";
}
