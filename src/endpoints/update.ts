import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { RegistryContext } from "../registry/context.ts";
import type { Door } from "../registry/prepare.ts";
import type { ServedResource } from "../registry/resource.ts";
import { update } from "../registry/update.ts";
import { decodeObject, warningHeaders } from "./decode-body.ts";
import { writeOptions } from "./options.ts";
import { writtenResponse } from "./written.ts";

export async function updateEndpoint(context: RegistryContext, served: ServedResource, request: WithInfo): Promise<ApiResponse> {
  const { dryRun, fieldValidation } = writeOptions(request.query, "UpdateOptions");
  const { object, warnings } = await decodeObject(request, served, fieldValidation);
  const { namespace, name } = request.info;
  const { written, isCreated } = await update(context, served, { namespace, name, dryRun, door: doorOf(request), verb: "update", next: () => object });
  return writtenResponse(isCreated ? 201 : 200, written, served, warningHeaders(warnings));
}

export function doorOf({ info }: WithInfo): Door {
  return info.subresource === "status" ? "status" : info.subresource === "finalize" ? "finalize" : "main";
}
