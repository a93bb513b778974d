/**
 * Server-side apply of a Scale: what is owned through it is the workload's own replicas. As kubernetes, such entries
 * have no time, and who conflicts with one is told of owners as the Scale knows them.
 */
import { invalidValue } from "../meta/field-errors.ts";
import { objectAt, type JsonObject } from "../meta/json.ts";
import { invalid, notFound } from "../meta/status-error.ts";
import { applyConflict, outcomeOf, type AppliedObject } from "./apply.ts";
import type { RegistryContext } from "./context.ts";
import { guaranteedUpdate } from "./guaranteed-update.ts";
import { fromVersion, inVersion } from "./managed-fields.ts";
import { refuseMisplaced, refuseOutdated, type ObjectPlace } from "./preconditions.ts";
import { objectIn } from "./representation.ts";
import { objectKey, type ServedResource } from "./resource.ts";
import { SCALE_API_VERSION, SCALE_KIND, scaleOf } from "./subresources/scale.ts";

export interface ApplyScaleRequest extends ObjectPlace {
  readonly manager: string;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly applied: () => AppliedObject;
}

/** Answers the Scale as it is now. */
export async function applyScale(
  context: RegistryContext,
  served: ServedResource,
  request: ApplyScaleRequest,
): Promise<JsonObject> {
  const { namespace, name, dryRun } = request;
  const written = await guaranteedUpdate(context, served, {
    key: objectKey(served.stored, namespace, name),
    dryRun,
    decide: (existing, entry) => {
      const given = objectAt(request.applied().sent, "metadata");
      const named = { metadata: { ...objectAt(scaleOf(existing), "metadata"), ...given } };
      const object = scaled(served, existing, request);
      refuseMisplaced(named, request);
      refuseOutdated(served, { object: named, existing, entry });
      return { kind: "store", object };
    },
    absent: () => {
      throw notFound(served.groupResource, name);
    },
  });
  return scaleOf("entry" in written ? objectIn(written.entry, served) : written.object);
}

function scaled(served: ServedResource, existing: JsonObject, request: ApplyScaleRequest): JsonObject {
  const { sent, accept } = request.applied();
  const outcome = outcomeOf(sent, {
    ...asWorkload(served, sent),
    live: existing,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: request.manager,
    force: request.force,
    subresource: "scale",
    time: undefined,
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
    fromVersion: (object, apiVersion) => fromVersion(object, served, apiVersion),
  });
  if (outcome.kind === "conflicts")
    throw applyConflict(
      outcome.conflicts.map(({ owner, path }) => ({ owner: { ...owner, apiVersion: SCALE_API_VERSION }, path })),
    );
  accept?.();
  return withReplicas(served, existing, {
    replicas: Number(objectAt(outcome.object, "spec")["replicas"] ?? 0),
    managedFields: outcome.managedFields,
    name: request.name,
  });
}

/** What the Scale says, as the workload would say it. */
function asWorkload({ apiVersion, kind }: ServedResource, scale: JsonObject): AppliedObject {
  const { replicas } = objectAt(scale, "spec");
  const applied = { apiVersion, kind, ...(replicas === undefined ? {} : { spec: { replicas } }) };
  return { applied, sent: applied, hasNull: replicas === null };
}

function withReplicas(
  served: ServedResource,
  existing: JsonObject,
  to: { readonly replicas: number; readonly managedFields: readonly JsonObject[] | undefined; readonly name: string },
): JsonObject {
  const { replicas, managedFields, name } = to;
  if (replicas < 0) {
    const why = invalidValue("spec.replicas", replicas, "must be greater than or equal to 0");
    throw invalid({ group: "autoscaling", kind: SCALE_KIND }, name, [why]);
  }
  const { managedFields: _before, generation = 0, ...metadata } = objectAt(existing, "metadata");
  const spec = objectAt(existing, "spec");
  const isNew = served.stored.strategy.tracksGeneration && replicas !== spec["replicas"];
  return {
    ...existing,
    metadata: {
      ...metadata,
      generation: isNew ? Number(generation) + 1 : generation,
      ...(managedFields === undefined ? {} : { managedFields }),
    },
    spec: { ...spec, replicas },
  };
}
