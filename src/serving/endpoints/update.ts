/** Serves PUT and PATCH, including server-side apply. */
import type { WithInfo } from "../http/filters/request-info.ts";
import { apply } from "../registry/apply.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { UpdateEndpoint } from "../registry/prepare.ts";
import { update, type Updated } from "../registry/update.ts";
import type { Admission } from "../registry/admission.ts";
import type { AdmissionAbout, EndpointCall, EndpointResponse } from "./endpoint.ts";
import type { ForwardedRequest } from "./field-loss.ts";
import { optionsObject } from "./options.ts";
import { BODY_BYTES_MAX } from "./endpoint-limits.ts";
import { errorResponseWithWarnings, writtenResponse } from "./render/respond.ts";
import { readRequestedWrite, type RequestedWrite } from "./write-options.ts";

/** Serves PUT and PATCH, which differ only in how the body specifies the new object. */
export async function updateEndpoint(call: EndpointCall): Promise<EndpointResponse> {
  const requested = await readRequestedWrite(call, call.served);
  let earlyWarnings: readonly string[] = [];
  const keepWarnings = (texts: readonly string[]): void => {
    earlyWarnings = texts;
  };
  try {
    const updated = await granted(call, requested, keepWarnings);
    if (updated instanceof Forwarded) return updated;
    const { written, isCreated } = updated;
    return writtenResponse(isCreated ? 201 : 200, written, call.renderer, requested.warnings());
  } catch (thrown) {
    return errorResponseWithWarnings(thrown, [...requested.warnings(), ...earlyWarnings]);
  }
}

function granted(
  call: EndpointCall,
  requested: Awaited<ReturnType<typeof readRequestedWrite>>,
  onWarnings: (warnings: readonly string[]) => void,
): Promise<Updated | ForwardedRequest> {
  const { context, served, request, rejectCreation } = call;
  const { namespace, name, verb } = request.info;
  const { manager, dryRun } = requested;
  const admission = updateAdmission(call, served, requested);
  const place = { namespace, name, endpoint: endpointOf(request), requester: request.user };
  const common = { ...place, manager, dryRun, admission, rejectCreation, onWarnings };
  if ("applied" in requested) {
    const { applied, force } = requested;
    return apply(context, served, { ...common, applied, force, bytesMax: BODY_BYTES_MAX });
  }
  const { next } = requested;
  return update<ForwardedRequest>(context, served, { ...common, next, verb: verb === "patch" ? "patch" : "update" });
}

/** Returns the admission of a PUT or PATCH. `kind` is the kind of the body. */
export function updateAdmission(
  { admit, request }: EndpointCall,
  kind: AdmissionAbout["kind"],
  { dryRun }: Pick<RequestedWrite, "dryRun">,
): Admission | undefined {
  // As kubernetes: admission receives UpdateOptions even for a patch.
  return admit?.({ kind, dryRun, options: optionsObject(request, "UpdateOptions") });
}

function endpointOf({ info }: WithInfo): UpdateEndpoint {
  return info.subresource === "status" ? "status" : info.subresource === "finalize" ? "finalize" : "main";
}
