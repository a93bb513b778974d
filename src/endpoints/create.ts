import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { RegistryContext } from "../registry/context.ts";
import { create } from "../registry/create.ts";
import type { ServedResource } from "../registry/resource.ts";
import { decodeObject, warningHeaders } from "./decode-body.ts";
import { writeOptions } from "./options.ts";
import { writtenResponse } from "./written.ts";

export async function createEndpoint(context: RegistryContext, served: ServedResource, request: WithInfo): Promise<ApiResponse> {
  const { dryRun, fieldValidation } = writeOptions(request.query, "CreateOptions");
  const { object, warnings } = await decodeObject(request, served, fieldValidation);
  const written = await create(context, served, { namespace: request.info.namespace, object, dryRun });
  return writtenResponse(201, written, served, warningHeaders(warnings));
}
