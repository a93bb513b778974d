/**
 * Serves the DELETE of an object that cannot be read. Without it, such an object, and every list that contains it,
 * returns errors until a person repairs the store.
 *
 * As kubernetes: finalizers, the grace period and admission are skipped, because they cannot be evaluated without the
 * object. So the deletion requires a verb of its own, and the audit event shows that it was requested.
 */
import type { JsonObject } from "../../meta/json.ts";
import { invalidValue } from "../../meta/field-errors.ts";
import { StatusError, type FieldError } from "../../meta/status-error.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";
import type { ApiResponse } from "../http/message.ts";
import { jsonResponse, successStatus } from "../http/respond.ts";
import type { DeletionOptions } from "../registry/delete.ts";
import { deleteUnreadable } from "../registry/delete-unreadable.ts";
import { UNSAFE_DELETION } from "./delete-options.ts";
import type { EndpointCall } from "./endpoint.ts";
import { invalidOptions } from "./options.ts";

const AUDIT_ANNOTATION = "apiserver.k8s.io/unsafe-delete-ignore-read-error";

export async function unsafeDeleteEndpoint(call: EndpointCall, { dryRun }: DeletionOptions): Promise<ApiResponse> {
  const { context, served, request, rejectUnsafeDeletion } = call;
  const { namespace, name } = request.info;
  request.audit?.annotate(AUDIT_ANNOTATION, "");
  if (rejectUnsafeDeletion === undefined) throw withoutAuthorizer();
  await rejectUnsafeDeletion();
  await deleteUnreadable(context, served, { namespace, name, dryRun });
  return jsonResponse(200, { ...successStatus({ name, kind: served.kind }), code: 200 });
}

/** As kubernetes ValidateIgnoreStoreReadError: the other options have no effect on an object that cannot be read. */
export function unsafeDeletionErrors(
  options: JsonObject,
  dryRun: readonly string[],
  gates: ReleaseGates,
): readonly FieldError[] {
  if (options[UNSAFE_DELETION] !== true) return [];
  const isDryRunRejected = dryRun.length > 0 && !gates.isOn("UnsafeDeletionDryRun");
  const set = OTHER_OPTIONS.filter((name) => (options[name] ?? undefined) !== undefined);
  return [...(isDryRunRejected ? ["dryRun"] : []), ...set].map((name) =>
    invalidValue(UNSAFE_DELETION, true, `cannot be set together with .${name}`),
  );
}

const OTHER_OPTIONS = ["propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"] as const;

export function rejectUnsafeDeletionOfCollection(options: DeletionOptions): void {
  if (options[UNSAFE_DELETION] !== true) return;
  const why = "is not allowed with DELETECOLLECTION, try again after removing the option";
  throw invalidOptions("DeleteOptions", [invalidValue(UNSAFE_DELETION, true, why)]);
}

function withoutAuthorizer(): StatusError {
  const why = "no authorizer provided, unable to authorize unsafe delete";
  return new StatusError("InternalError", `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
  });
}
