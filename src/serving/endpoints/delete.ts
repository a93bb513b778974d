/** Serves DELETE of one object and of a collection of objects. */
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { jsonResponse, successStatus } from "../http/respond.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { badRequest, isReason, type FieldError } from "../../meta/status-error.ts";
import type { Admission } from "../registry/admission.ts";
import type { RegistryContext } from "../registry/context.ts";
import { deleteObject, type DeletionOptions, type PropagationPolicy } from "../registry/delete.ts";
import { list } from "../registry/list.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { parseBody, readRequestBody, warningHeaders } from "./decode-body.ts";
import type { EndpointCall } from "./endpoint.ts";
import { checkedDeleteOptions, UNSAFE_DELETION } from "./delete-options.ts";
import {
  dryRunErrors,
  integerParameter,
  invalidOptions,
  listOptionErrors,
  listOptions,
  revisionOf,
  selectorOptions,
  type ListParameters,
} from "./options.ts";
import { chunksResponse, errorResponseWithWarnings, writtenResponse } from "./render/respond.ts";
import { rejectUnsafeDeletionOfCollection, unsafeDeleteEndpoint, unsafeDeletionErrors } from "./unsafe-delete.ts";

export async function deleteEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  const { namespace, name } = request.info;
  const options = await deleteOptions(call);
  if (options[UNSAFE_DELETION] === true) return unsafeDeleteEndpoint(call, options);
  const warnings = deletionWarnings(served, options);
  try {
    const admission = deleteAdmission(call, options);
    const deleted = await deleteObject(context, served, { namespace, name, options, admission });
    if (deleted.kind === "gone") return jsonResponse(200, successStatus(deleted.details), warningHeaders(warnings));
    const status = deleted.remains && options.orphanDependents === false ? 202 : 200;
    return writtenResponse(status, deleted.written, renderer, warnings);
  } catch (thrown) {
    return errorResponseWithWarnings(thrown, warnings);
  }
}

/** As kubernetes: admission receives the decoded options, whether the client sent them in the body or in the query. */
function deleteAdmission({ admit, served }: EndpointCall, options: DeletionOptions): Admission | undefined {
  const { dryRun, preconditions = {}, ...said } = options;
  const shown = {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...said,
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
  return admit?.({ kind: served, dryRun, options: shown });
}

function deletionWarnings({ meaning }: ServedResource, options: DeletionOptions): string[] {
  const { orphaningWarning } = meaning;
  const isSet = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  return orphaningWarning === undefined || isSet ? [] : [orphaningWarning];
}

/** Deletes each selected object separately, some of them concurrently, and returns their list. */
export async function deleteCollectionEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  const selectors = selectorOptions(request.query, served);
  const { limit, continueToken } = checkedListOptions(request.query);
  const options = await deleteOptions(call);
  rejectUnsafeDeletionOfCollection(options);
  const { namespace } = request.info;
  const listed = await list(context, served, {
    ...selectors,
    namespace,
    state: continueToken === "" ? { kind: "newest" } : { kind: "continue", token: continueToken },
    limit: Math.max(0, limit),
  });
  const admission = deleteAdmission(call, options);
  for (let at = 0; at < listed.entries.length; at += DELETIONS_AT_ONCE) {
    await Promise.all(
      listed.entries
        .slice(at, at + DELETIONS_AT_ONCE)
        .map((entry) => deleteListed(context, served, { entry, options, admission })),
    );
  }
  return chunksResponse(200, renderer.list(listed), warningHeaders(deletionWarnings(served, options)));
}

/** DIFFERS: resourceVersion is validated but otherwise ignored: the current objects are deleted. */
function checkedListOptions(query: WithInfo["query"]): ListParameters {
  const options = listOptions(query);
  const errors = listOptionErrors(options, "list");
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  revisionOf(options.resourceVersion, "BadRequest");
  return options;
}

/** Number of concurrent deletions: enough to share a group commit, few enough not to delay other writers. */
const DELETIONS_AT_ONCE = 16;

/** Deletes one object of the list, unless another client has deleted it meanwhile. */
async function deleteListed(
  context: RegistryContext,
  served: ServedResource,
  { entry, options, admission }: { entry: Entry; options: DeletionOptions; admission: Admission | undefined },
): Promise<void> {
  const path = entry.key.slice(served.stored.keyPrefix.length);
  const slash = path.lastIndexOf("/");
  try {
    await deleteObject(context, served, {
      namespace: slash < 0 ? "" : path.slice(0, slash),
      name: path.slice(slash + 1),
      options,
      admission,
      isOneOfMany: true,
    });
  } catch (thrown) {
    if (!isReason(thrown, "NotFound")) throw thrown;
  }
}

async function deleteOptions(call: EndpointCall): Promise<DeletionOptions> {
  const bytes = await readRequestBody(call.request);
  // An empty body has no content type to check: the options are those of the query.
  const sent =
    bytes.length === 0
      ? optionsFromQuery(call.request)
      : checkedDeleteOptions(parseBody(call, bytes, badRequest).value);
  // As kubernetes: the option is dropped, not rejected, while its feature gate is off.
  const { [UNSAFE_DELETION]: _dropped, ...known } = sent;
  const body = call.context.allowsUnsafeDeletion === true ? sent : known;
  const dryRun = Array.isArray(body["dryRun"]) ? body["dryRun"].map(String) : [];
  const errors = [...deleteOptionsErrors(body, dryRun), ...unsafeDeletionErrors(body, dryRun, call.served.gates)];
  if (errors.length > 0) throw invalidOptions("DeleteOptions", errors);
  return toDeleteOptions(body, dryRun.includes("All"));
}

/** As kubernetes ValidateDeleteOptions. */
export function deleteOptionsErrors(body: JsonObject, dryRun: readonly string[]): FieldError[] {
  const policy = body["propagationPolicy"] ?? undefined;
  const errors: FieldError[] = [];
  if (policy !== undefined && (body["orphanDependents"] ?? undefined) !== undefined) {
    errors.push({
      field: "propagationPolicy",
      reason: "FieldValueInvalid",
      message: `Invalid value: ${JSON.stringify(policy)}: orphanDependents and deletionPropagation cannot be both set`,
    });
  }
  if (policy !== undefined && !isPropagationPolicy(policy)) {
    errors.push({
      field: "propagationPolicy",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(policy)}: supported values: "Foreground", "Background", "Orphan", "nil"`,
    });
  }
  errors.push(...dryRunErrors(dryRun));
  return errors;
}

/** Converts validated DeleteOptions, whether the client sent them in the body or in the query. */
export function toDeleteOptions(body: JsonObject, dryRun: boolean): DeletionOptions {
  const { gracePeriodSeconds, orphanDependents, propagationPolicy, [UNSAFE_DELETION]: isUnsafe } = body;
  const { uid, resourceVersion } = objectAt(body, "preconditions");
  return {
    dryRun,
    ...(typeof gracePeriodSeconds === "number" ? { gracePeriodSeconds } : {}),
    ...(typeof orphanDependents === "boolean" ? { orphanDependents } : {}),
    ...(isPropagationPolicy(propagationPolicy) ? { propagationPolicy } : {}),
    ...(typeof isUnsafe === "boolean" ? { [UNSAFE_DELETION]: isUnsafe } : {}),
    preconditions: {
      ...(typeof uid === "string" ? { uid } : {}),
      ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    },
  };
}

function isPropagationPolicy(value: unknown): value is PropagationPolicy {
  return value === "Foreground" || value === "Background" || value === "Orphan";
}

function optionsFromQuery({ query }: WithInfo): JsonObject {
  const options: JsonObject = {};
  const grace = integerParameter(query.get("gracePeriodSeconds"));
  if (grace !== undefined) options["gracePeriodSeconds"] = grace;
  for (const name of ["orphanDependents", UNSAFE_DELETION]) {
    const value = query.get(name);
    if (value !== undefined) options[name] = value.toLowerCase() !== "false" && value !== "0";
  }
  const policy = query.get("propagationPolicy");
  if (policy !== undefined) options["propagationPolicy"] = policy;
  if (query.has("dryRun")) options["dryRun"] = query.all("dryRun");
  return options;
}
