/**
 * Reads the options and the body of a PUT or PATCH. The body is read once, and applied each time to the current object.
 */
import type { JsonObject } from "../../meta/json.ts";
import { withDefaults } from "../registry/defaults.ts";
import { Forwarded } from "../registry/forwarded-request.ts";
import type { ServedResource } from "../registry/resource.ts";
import { rejectMisplaced } from "../registry/preconditions.ts";
import { APPLY_PATCH_TYPE, readApply, rejectForce, type RequestedApply } from "./apply.ts";
import { contentType, readObject } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import type { ForwardedRequest } from "./field-loss.ts";
import { writeOptions } from "./options.ts";
import { PATCH_TYPES, readPatch } from "./patch.ts";

export interface RequestedWrite {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly next: (existing: JsonObject) => JsonObject | ForwardedRequest;
  /** The warnings of the last call of `next`. */
  readonly warnings: () => readonly string[];
}

/** Reads the request. `kind` is the kind of the body: that of the resource, or that of a subresource such as Scale. */
export async function readRequestedWrite(
  call: EndpointCall,
  kind: ServedResource,
): Promise<RequestedWrite | RequestedApply> {
  const { request } = call;
  if (request.info.verb !== "patch") return readPut(call, kind);
  const type = contentType(request);
  if (type === APPLY_PATCH_TYPE) return readApply(call, kind);
  if (PATCH_TYPES.has(type)) rejectForce(request);
  return readPatch(call, kind);
}

async function readPut(call: EndpointCall, kind: ServedResource): Promise<RequestedWrite> {
  const { dryRun, fieldValidation, manager } = writeOptions(call.request, "UpdateOptions");
  const sent = await readObject({ ...call, served: kind }, fieldValidation);
  call.request.audit?.requestObject(sent.known, (copy) => withDefaults(call.context, kind, copy));
  // Rejects a body whose name or namespace differs from the path, whether or not the object exists.
  rejectMisplaced(sent.known, call.request.info);
  let warnings: readonly string[] = [];
  const next = (existing: JsonObject): JsonObject | ForwardedRequest => {
    const decoded = sent.inPlaceOf(existing);
    if (decoded instanceof Forwarded) return decoded;
    warnings = decoded.warnings;
    return decoded.object;
  };
  return { manager, dryRun, next, warnings: () => warnings };
}
