/** Reads and writes the Scale of a workload, the form in which all scalable kinds show their replicas. */
import { firstErrors, invalidValue } from "../../../meta/field-errors.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, invalid, StatusError, type FieldError } from "../../../meta/status-error.ts";
import { splitFieldPath } from "../../../objects/json/json-path.ts";
import type { Admission } from "../admission.ts";
import type { RegistryContext } from "../context.ts";
import { Forwarded } from "../forwarded-request.ts";
import { metadataErrors } from "../metadata-validation.ts";
import { inNamespace, rejectMisplaced } from "../preconditions.ts";
import { objectIn } from "../representation.ts";
import type { ServedResource } from "../resource.ts";
import { updateThrough, type SubresourceWrite, type SubresourceStrategy } from "./partial-update.ts";
import { integerOr, replicasPlaceOf } from "./replicas.ts";

export const SCALE_API_VERSION = "autoscaling/v1";
const SCALE_KIND = "Scale";

/** As kubernetes: the desired replicas in the Scale of a custom resource that does not set them. */
export const REPLICAS_UNSET = -2_147_483_648;

export function scaleOf(served: ServedResource, workload: JsonObject): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = objectAt(workload, "metadata");
  const { wanted = REPLICAS_UNSET, observed, selector } = replicasPlaceOf(served).read(workload);
  return {
    kind: SCALE_KIND,
    apiVersion: SCALE_API_VERSION,
    metadata: {
      name,
      namespace,
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      creationTimestamp,
    },
    // As kubernetes: zero desired replicas are omitted, zero observed replicas are not.
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: { replicas: observed, ...(selector === "" ? {} : { selector }) },
  };
}

/** Returns the Scale of a workload. Throws if a custom resource does not set its replicas. */
export function existingScale(served: ServedResource, workload: JsonObject): JsonObject {
  const scale = scaleOf(served, workload);
  if (objectAt(scale, "spec")["replicas"] !== REPLICAS_UNSET || served.scale === undefined) return scale;
  const message = `the spec replicas field ${goQuote(served.scale.specReplicasPath)} does not exist`;
  throw new StatusError("InternalError", `Internal error occurred: ${message}`, {
    details: { causes: [{ message }] },
  });
}

export function scaleStrategy(served: ServedResource): SubresourceStrategy {
  const place = replicasPlaceOf(served);
  const { meaning, scale } = served;
  return {
    subresource: "scale",
    isTimed: false,
    pass: (requested, existing) => place.write(existing, place.read(requested).wanted),
    ...(scale && { complete: (object) => withReplicasOwned(object, scale.specReplicasPath) }),
    errors: (object, existing, context) =>
      // The Scale of a built-in kind has already been validated; the rest of the workload is not.
      scale === undefined ? [] : firstErrors(meaning.updateErrors?.(object, existing, context) ?? []),
  };
}

/**
 * As kubernetes: a manager that writes a Scale owns only the replicas field and none of its parent fields, even if the
 * write created them.
 */
function withReplicasOwned(object: JsonObject, path: string): JsonObject {
  const metadata = objectAt(object, "metadata");
  const { managedFields } = metadata;
  if (!Array.isArray(managedFields)) return object;
  let fieldsV1: JsonObject = {};
  for (const name of splitFieldPath(path).toReversed()) fieldsV1 = { [`f:${name}`]: fieldsV1 };
  const owned = managedFields.map((entry: unknown) =>
    isJsonObject(entry) && entry["subresource"] === "scale" ? { ...entry, fieldsV1 } : entry,
  );
  return { ...object, metadata: { ...metadata, managedFields: owned } };
}

/**
 * Wraps admission so that validating admission receives Scales instead of workloads. `mutate` does nothing, because
 * mutating admission has already run on the Scale.
 */
export function scaleAdmission(served: ServedResource, admission: Admission | undefined): Admission | undefined {
  return (
    admission && {
      mutate: ({ object }) => Promise.resolve(object),
      validate: ({ object, existing, ...write }) =>
        admission.validate({
          ...write,
          object: object && scaleOf(served, object),
          existing: existing && scaleOf(served, existing),
        }),
    }
  );
}

interface ScaleRequest<F extends Forwarded> extends Omit<SubresourceWrite, "next"> {
  /** Computes the requested Scale from the current one. */
  readonly next: (scale: JsonObject) => JsonObject | F;
}

/** Writes the replicas. Returns the Scale after the write. */
export async function updateScale<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  request: ScaleRequest<F>,
): Promise<JsonObject | F> {
  const { name, admission } = request;
  const next = async (workload: JsonObject): Promise<JsonObject | F> => {
    const before = scaleOf(served, workload);
    const sent = request.next(before);
    if (sent instanceof Forwarded) return sent;
    rejectMisplaced(sent, request);
    const requested = inNamespace(sent, request.namespace);
    const write = { operation: "UPDATE", name, object: requested, existing: before } as const;
    const scale = admission === undefined ? requested : await admission.mutate(write);
    const { uid, resourceVersion } = objectAt(scale, "metadata");
    const replicas = integerOr(objectAt(scale, "spec")["replicas"], 0);
    rejectReplicas(served, replicas, name, objectAt(scale, "metadata"));
    const scaled = replicasPlaceOf(served).write(workload, replicas);
    return { ...scaled, metadata: { ...objectAt(workload, "metadata"), uid, resourceVersion } };
  };
  const through = { ...request, next, admission: scaleAdmission(served, admission) };
  const written = await updateThrough(context, served, scaleStrategy(served), through);
  if (written instanceof Forwarded) return written;
  return scaleOf(served, "entry" in written ? objectIn(written.entry, served) : written.object);
}

/** Rejects invalid replicas and, if `metadata` is given, invalid metadata of the Scale. */
export function rejectReplicas({ scale }: ServedResource, replicas: number, name: string, metadata?: JsonObject): void {
  if (scale !== undefined && replicas === REPLICAS_UNSET)
    throw badRequest(`the spec replicas field ${goQuote(scale.specReplicasPath)} cannot be empty`);
  if (scale !== undefined) return;
  const errors = metadata === undefined ? [] : scaleMetadataErrors(metadata);
  if (replicas < 0) errors.push(invalidValue("spec.replicas", replicas, "must be greater than or equal to 0"));
  if (errors.length > 0) throw invalid({ group: "autoscaling", kind: SCALE_KIND }, name, errors);
}

function scaleMetadataErrors(metadata: JsonObject): FieldError[] {
  return metadataErrors({ ...metadata, namespace: "given" }, { nameRule: () => [], namespaced: true });
}
