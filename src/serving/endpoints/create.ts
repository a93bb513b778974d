/** Serves POST: decodes the body and creates the object. */
import { create } from "../registry/create.ts";
import { withDefaults } from "../registry/defaults.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import { decodeObject } from "./decode-body.ts";
import type { EndpointCall, EndpointResponse } from "./endpoint.ts";
import { optionsObject, writeOptions } from "./options.ts";
import { errorResponseWithWarnings, writtenResponse } from "./render/respond.ts";

export async function createEndpoint(call: EndpointCall): Promise<EndpointResponse> {
  const { context, served, renderer, request } = call;
  const { dryRun, fieldValidation, manager } = writeOptions(request, "CreateOptions");
  const decoded = await decodeObject(call, fieldValidation);
  if (decoded instanceof Forwarded) return decoded;
  const { object, warnings } = decoded;
  request.audit?.requestObject(object, (copy) => withDefaults(context, served, copy));
  let earlyWarnings: readonly string[] = [];
  try {
    const written = await create(context, served, {
      namespace: request.info.namespace,
      object,
      manager,
      dryRun,
      requester: request.user,
      onWarnings: (texts) => {
        earlyWarnings = texts;
      },
      admission: call.admit?.({ kind: served, dryRun, options: optionsObject(request, "CreateOptions") }),
    });
    return writtenResponse(201, written, renderer, warnings);
  } catch (thrown) {
    return errorResponseWithWarnings(thrown, [...warnings, ...earlyWarnings]);
  }
}
