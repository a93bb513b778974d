/** Serves the subresource binding, with which the scheduler assigns a pod to a node. */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { jsonResponse, successStatus } from "../../http/respond.ts";
import { objectAt, stringAt } from "../../../meta/json.ts";
import { badRequest, StatusError } from "../../../meta/status-error.ts";
import { Forwarded } from "../../registry/forwarded-request.ts";
import { rejectCreationOutsideLiveNamespace } from "../../registry/namespace-lifecycle.ts";
import { podBindingErrors, bindPod } from "../../registry/subresources/binding.ts";
import { inNamespace, rejectForeignNamespace } from "../../registry/preconditions.ts";
import { decodeObject, warningHeaders } from "../decode-body.ts";
import type { EndpointCall, EndpointResponse } from "../endpoint.ts";
import { optionsObject, writeOptions } from "../options.ts";
import { bindingKind } from "./kinds.ts";

/**
 * Serves POST pods/x/binding and the older POST bindings, in which only the body contains the name of the pod.
 * `call.served` is pods in both cases.
 */
export async function bindingEndpoint(call: EndpointCall): Promise<EndpointResponse> {
  const { context, served: pods, request } = call;
  const { dryRun, fieldValidation } = writeOptions(request, "CreateOptions");
  const kind = bindingKind(pods);
  const decoded = await decodeObject({ ...call, served: kind }, fieldValidation);
  if (decoded instanceof Forwarded) return decoded;
  const { object: sent, warnings } = decoded;
  const { namespace, resource } = request.info;
  const given = stringAt(objectAt(sent, "metadata"), "name");
  const name = resource === "bindings" ? given : request.info.name;
  rejectForeignNamespace(sent, namespace);
  await rejectCreationOutsideLiveNamespace(context, pods.groupResource, { namespace, name });
  const admission = call.admit?.({ kind, dryRun, options: optionsObject(request, "CreateOptions") });
  const write = { operation: "CREATE", name, existing: undefined } as const;
  const placed = inNamespace(sent, namespace);
  const binding = (await admission?.mutate({ ...write, object: placed })) ?? placed;
  if (name !== given) throw badRequest("name in URL does not match name in Binding object");
  const errors = podBindingErrors(binding).map(({ field, message }) => `${field}: ${message}`);
  // As kubernetes: the error of an invalid binding has no reason.
  if (errors.length > 0) throw new StatusError("", aggregateText(errors));
  await admission?.validate({ ...write, object: binding });
  await bindPod(context, pods, { namespace, name, binding, dryRun });
  return jsonResponse(201, { ...successStatus(undefined), code: 201 }, warningHeaders(warnings));
}
