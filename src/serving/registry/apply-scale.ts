/**
 * Server-side apply of a Scale. A manager that applies a Scale owns the replicas field of the workload. As kubernetes:
 * these managedFields entries have no time, and a conflict lists the other managers with the API version of the Scale.
 */
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { notFound } from "../../meta/status-error.ts";
import type { FieldPath } from "../../objects/managed-fields/path-element.ts";
import { applyConflict, applyOutcome, type AppliedObject } from "./apply.ts";
import type { Admission } from "./admission.ts";
import type { RegistryContext, Written } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import { guaranteedUpdate } from "./guaranteed-update.ts";
import { absentFields, fromVersion, inVersion } from "./managed-fields.ts";
import { rejectMisplaced, rejectOutdated, type ObjectPlace } from "./preconditions.ts";
import { objectIn } from "./representation.ts";
import { objectKey, type ServedResource } from "./resource.ts";
import { updateThrough } from "./subresources/partial-update.ts";
import { replicasPlaceOf } from "./subresources/replicas.ts";
import {
  REPLICAS_UNSET,
  rejectReplicas,
  SCALE_API_VERSION,
  scaleAdmission,
  scaleStrategy,
  scaleOf,
} from "./subresources/scale.ts";

interface ApplyScaleRequest<F extends Forwarded = Forwarded> extends ObjectPlace {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly applied: () => AppliedObject | F;
  readonly admission?: Admission | undefined;
}

/** Returns the Scale after the write. */
export async function applyScale<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  request: ApplyScaleRequest<F>,
): Promise<JsonObject | F> {
  const written = await (served.custom === undefined
    ? applyBuiltIn(context, served, request)
    : applyCustom(context, served, request));
  if (written instanceof Forwarded) return written;
  return scaleOf(served, "entry" in written ? objectIn(written.entry, served) : written.object);
}

function applyBuiltIn<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  request: ApplyScaleRequest<F>,
): Promise<Written | F> {
  const { namespace, name, dryRun } = request;
  return guaranteedUpdate<F>(context, served, {
    key: objectKey(served.stored, namespace, name),
    dryRun,
    decide: async (existing, entry) => {
      const applied = request.applied();
      if (applied instanceof Forwarded) return applied;
      const named = namedBy(served, existing, applied);
      const requested = scaled(served, { existing, applied, request });
      rejectMisplaced(named, request);
      rejectOutdated(served, { object: named, existing, entry });
      const object = await mutated(served, requested, { existing, request });
      const write = { operation: "UPDATE", name, object, existing } as const;
      await scaleAdmission(served, request.admission)?.validate(write);
      return { kind: "store", object };
    },
    absent: () => {
      throw notFound(served.groupResource, name);
    },
  });
}

/** Runs mutating admission on the Scale. Returns the workload with the resulting replicas. */
async function mutated(
  served: ServedResource,
  requested: JsonObject,
  { existing, request }: { readonly existing: JsonObject; readonly request: ApplyScaleRequest },
): Promise<JsonObject> {
  const { admission, name } = request;
  if (admission === undefined) return requested;
  const write = { operation: "UPDATE", name, existing: scaleOf(served, existing) } as const;
  const scale = await admission.mutate({ ...write, object: scaleOf(served, requested) });
  const { managedFields } = objectAt(requested, "metadata") as { managedFields?: readonly JsonObject[] };
  return withReplicas(served, existing, {
    replicas: Number(objectAt(scale, "spec")["replicas"] ?? 0),
    managedFields,
    name,
  });
}

/** DIFFERS: kube-apiserver cannot apply the Scale of a custom resource in any version. */
function applyCustom<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  request: ApplyScaleRequest<F>,
): Promise<Written | F> {
  const next = async (existing: JsonObject): Promise<JsonObject | F> => {
    const applied = request.applied();
    if (applied instanceof Forwarded) return applied;
    const named = namedBy(served, existing, applied);
    const requested = scaled(served, { existing, applied, request });
    rejectMisplaced(named, request);
    const object = await mutated(served, requested, { existing, request });
    const { uid, resourceVersion } = named.metadata;
    return { ...object, metadata: { ...objectAt(object, "metadata"), uid, resourceVersion } };
  };
  const admission = scaleAdmission(served, request.admission);
  return updateThrough(context, served, scaleStrategy(served), { ...request, isApply: true, next, admission });
}

/** The metadata of the applied Scale. Fields that the Scale omits come from the existing object. */
function namedBy(
  served: ServedResource,
  existing: JsonObject,
  { sent }: AppliedObject,
): { readonly metadata: JsonObject } {
  const given = objectAt(sent, "metadata");
  return { metadata: { ...objectAt(scaleOf(served, existing), "metadata"), ...given } };
}

function scaled(
  served: ServedResource,
  to: { readonly existing: JsonObject; readonly applied: AppliedObject; readonly request: ApplyScaleRequest },
): JsonObject {
  const { existing, request } = to;
  const { sent, accept } = to.applied;
  const outcome = applyOutcome(sent, {
    ...asWorkload(served, sent),
    live: existing,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: request.manager,
    force: request.force,
    subresource: "scale",
    time: undefined,
    absentFields: absentFields(served),
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
    fromVersion: (object, apiVersion) => fromVersion(object, served, apiVersion),
  });
  if (outcome.kind === "conflicts")
    throw applyConflict(
      outcome.conflicts.map(({ owner }) => ({
        owner: { ...owner, apiVersion: SCALE_API_VERSION },
        path: REPLICAS_IN_SCALE,
      })),
    );
  accept?.();
  return withReplicas(served, existing, {
    replicas: replicasAfter(served, outcome.object, existing),
    managedFields: outcome.managedFields,
    name: request.name,
  });
}

const REPLICAS_IN_SCALE: FieldPath = [
  { kind: "field", name: "spec" },
  { kind: "field", name: "replicas" },
];

/**
 * The replicas after the apply. They are 0 if the manager removes the replicas that it had set, and REPLICAS_UNSET if a
 * custom resource never had any.
 */
function replicasAfter(served: ServedResource, applied: JsonObject, existing: JsonObject): number {
  if (served.scale === undefined) return Number(objectAt(applied, "spec")["replicas"] ?? 0);
  const place = replicasPlaceOf(served);
  return place.read(applied).wanted ?? (place.read(existing).wanted === undefined ? REPLICAS_UNSET : 0);
}

/** The replicas of the Scale as an applied configuration of the workload. */
function asWorkload(served: ServedResource, scale: JsonObject): AppliedObject {
  const { replicas } = objectAt(scale, "spec");
  const { apiVersion, kind } = served;
  const applied =
    replicas === undefined ? { apiVersion, kind } : replicasPlaceOf(served).write({ apiVersion, kind }, replicas);
  return { applied, sent: applied, hasNull: replicas === null };
}

function withReplicas(
  served: ServedResource,
  existing: JsonObject,
  to: { readonly replicas: number; readonly managedFields: readonly JsonObject[] | undefined; readonly name: string },
): JsonObject {
  const { replicas, managedFields, name } = to;
  rejectReplicas(served, replicas, name);
  const { managedFields: _before, generation = 0, ...metadata } = objectAt(existing, "metadata");
  const isNew = served.stored.strategy.tracksGeneration && replicas !== replicasPlaceOf(served).read(existing).wanted;
  return {
    ...replicasPlaceOf(served).write(existing, replicas),
    metadata: {
      ...metadata,
      generation: isNew ? Number(generation) + 1 : generation,
      ...(managedFields === undefined ? {} : { managedFields }),
    },
  };
}
