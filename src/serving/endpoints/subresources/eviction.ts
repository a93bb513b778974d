/** Serves the subresource eviction, which deletes a pod if its disruption budgets allow it. */
import { jsonResponse, successStatus } from "../../http/respond.ts";
import { jsonEquals, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, invalid, StatusError } from "../../../meta/status-error.ts";
import { invalidValue } from "../../../meta/field-errors.ts";
import { Forwarded } from "../../registry/forwarded-request.ts";
import { rejectCreationOutsideLiveNamespace } from "../../registry/namespace-lifecycle.ts";
import type { Admission } from "../../registry/admission.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { get } from "../../registry/read.ts";
import { evictPod } from "../../registry/subresources/eviction.ts";
import { inNamespace, rejectForeignNamespace } from "../../registry/preconditions.ts";
import { readObject, warningHeaders, type SentObject } from "../decode-body.ts";
import { deleteOptionsErrors, toDeleteOptions } from "../delete.ts";
import { UNSAFE_DELETION } from "../delete-options.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import { invalidOptions, optionsObject, writeOptions, type FieldValidation } from "../options.ts";
import { evictionKind } from "./kinds.ts";

/** Serves POST pods/x/eviction: deletes the pod if its disruption budgets allow it. */
export async function evictionEndpoint(
  call: EndpointCall,
  budgets: ServedResource | undefined,
): Promise<EndpointResponse> {
  const { context, served: pods, request } = call;
  const { fieldValidation } = writeOptions(request, "CreateOptions");
  const decoded = (await readEviction(call, fieldValidation)).asNew();
  if (decoded instanceof Forwarded) return decoded;
  const { object: sent, warnings } = decoded;
  const { namespace, name } = request.info;
  rejectForeignNamespace(sent, namespace);
  await rejectCreationOutsideLiveNamespace(context, pods.groupResource, { namespace, name });
  const admission = evictionAdmission(call, sent);
  const write = { operation: "CREATE", name, existing: undefined } as const;
  const placed = inNamespace(sent, namespace);
  const object = (await admission?.mutate({ ...write, object: placed })) ?? placed;
  if (stringAt(objectAt(object, "metadata"), "name") !== name)
    throw badRequest("name in URL does not match name in Eviction object");
  const given = objectAt(object, "deleteOptions");
  if (given[UNSAFE_DELETION] === true && pods.gates.isOn("UnsafeDeletionOption")) {
    const why = invalidValue(
      `deleteOptions.${UNSAFE_DELETION}`,
      true,
      "can not be set for pod eviction, try after removing the option",
    );
    throw invalid({ group: "policy", kind: "Eviction" }, name, [why]);
  }
  const options = toDeleteOptions(given, dryRunOf(request.query.all("dryRun"), stringsAt(given, "dryRun")));
  await admission?.validate({ ...write, object });
  await rejectOptions(call, given);
  await evictPod(context, { pods, budgets }, { namespace, name, options });
  return jsonResponse(201, { ...successStatus(undefined), code: 201 }, warningHeaders(warnings));
}

/**
 * Rejects delete options that an eviction does not allow. As kubernetes: if the pod does not exist, 404 is returned
 * instead.
 */
async function rejectOptions({ context, served, request }: EndpointCall, given: JsonObject): Promise<void> {
  const errors = deleteOptionsErrors(given, stringsAt(given, "dryRun"));
  if (errors.length === 0) return;
  const { namespace, name } = request.info;
  await get(context, served, { namespace, name, freshness: { kind: "newest" } });
  throw invalidOptions("DeleteOptions", errors);
}

function evictionAdmission({ admit, served, request }: EndpointCall, eviction: JsonObject): Admission | undefined {
  const kind = evictionKind(served, versionOf(eviction));
  const dryRun = request.query.has("dryRun");
  return admit?.({ kind, dryRun, options: optionsObject(request, "CreateOptions") });
}

function versionOf({ apiVersion }: JsonObject): "v1" | "v1beta1" {
  return apiVersion === "policy/v1beta1" ? "v1beta1" : "v1";
}

function readEviction(call: EndpointCall, validation: FieldValidation): Promise<SentObject> {
  const served = evictionKind(call.served, "v1");
  return readObject({ ...call, served }, validation, (value) => evictionKind(call.served, versionOf(value)));
}

/** True if the query, the body or both request a dry run. Rejects two different values. */
function dryRunOf(query: readonly string[], body: readonly string[]): boolean {
  if (query.length > 0 && body.length > 0 && !jsonEquals(query, body)) {
    throw new StatusError(
      "",
      `Non-matching dry-run options in request and content: [${query.join(" ")}] and [${body.join(" ")}]`,
    );
  }
  return query.length > 0 || body.length > 0;
}
