/**
 * Updates an object through a subresource that returns the object or a part of it, but writes only some of its fields.
 */
import { SERVER_OWNED } from "../prepare.ts";
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { jsonEquals, objectAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { invalid, notFound, type FieldError } from "../../../meta/status-error.ts";
import { trackUpdate } from "../../../objects/managed-fields/manager.ts";
import type { Admission } from "../admission.ts";
import { kindContext } from "../defaults.ts";
import { timestamp, type RegistryContext, type Written } from "../context.ts";
import { Forwarded } from "../forwarded-request.ts";
import { guaranteedUpdate, type ObjectChange } from "../guaranteed-update.ts";
import { absentFields, inVersion } from "../managed-fields.ts";
import { updateMetadataErrors } from "../update-metadata.ts";
import { objectKey, type ServedResource } from "../resource.ts";
import { inNamespace, rejectMisplaced, rejectOutdated, type ObjectPlace } from "../preconditions.ts";

export interface SubresourceStrategy {
  readonly subresource: string;
  /** Returns the existing object with the fields of the request that this subresource writes. */
  pass(requested: JsonObject, existing: JsonObject, context: KindContext): JsonObject;
  /** Adds fields that the server sets and no manager owns. */
  complete?(object: JsonObject, existing: JsonObject, now: string): JsonObject;
  errors(object: JsonObject, existing: JsonObject, context: KindContext): FieldError[];
  /** False if managedFields entries have no time. As kubernetes: those of /scale have none. */
  readonly isTimed: boolean;
}

export interface SubresourceWrite<F extends Forwarded = Forwarded> extends ObjectPlace {
  readonly manager: string;
  readonly dryRun: boolean;
  /** If true, `next` returns the object with its managedFields. */
  readonly isApply?: boolean;
  /** Computes the requested object from the current one. Called again if another writer has changed the object. */
  readonly next: (existing: JsonObject) => JsonObject | F | Promise<JsonObject | F>;
  readonly admission?: Admission | undefined;
}

export function updateThrough<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  strategy: SubresourceStrategy,
  request: SubresourceWrite<F>,
): Promise<Written | F> {
  return guaranteedUpdate<F>(context, served, {
    key: objectKey(served.stored, request.namespace, request.name),
    dryRun: request.dryRun,
    decide: async (existing, entry) => {
      const made = request.next(existing);
      const sent = made instanceof Promise ? await made : made;
      if (sent instanceof Forwarded) return sent;
      rejectMisplaced(sent, request);
      const requested = served.stored.namespaced ? inNamespace(sent, request.namespace) : sent;
      rejectOutdated(served, { object: requested, existing, entry });
      const { admission, name } = request;
      const write = { operation: "UPDATE", name, existing } as const;
      const object = admission === undefined ? requested : await admission.mutate({ ...write, object: requested });
      const now = timestamp(context.clock);
      const inKind = kindContext(context, served);
      const next = strategy.pass(object, existing, inKind);
      const tracked =
        request.isApply === true
          ? withOwnersOf(next, object)
          : track(served, strategy, { existing, next, manager: request.manager, now });
      const completed = strategy.complete?.(tracked, existing, now) ?? tracked;
      const whole = withGeneration(served, completed, existing);
      const change = decideChange(served, strategy, { inKind, object: whole, existing, name });
      if (admission !== undefined) await admission.validate({ ...write, object: change.object });
      return change;
    },
    absent: () => {
      throw notFound(served.groupResource, request.name);
    },
  });
}

function withOwnersOf(object: JsonObject, requested: JsonObject): JsonObject {
  const { managedFields } = objectAt(requested, "metadata");
  return { ...object, metadata: { ...objectAt(object, "metadata"), managedFields } };
}

function track(
  served: ServedResource,
  strategy: SubresourceStrategy,
  write: { existing: JsonObject; next: JsonObject; manager: string; now: string },
): JsonObject {
  const managedFields = trackUpdate({
    live: write.existing,
    next: write.next,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: write.manager,
    subresource: strategy.subresource,
    time: strategy.isTimed ? write.now : undefined,
    absentFields: absentFields(served),
    ...(served.custom === undefined
      ? {}
      : { inVersion: (object: JsonObject, apiVersion: string) => inVersion(object, served, apiVersion) }),
  });
  const { managedFields: _before, ...metadata } = objectAt(write.next, "metadata");
  return { ...write.next, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

function withGeneration(served: ServedResource, object: JsonObject, existing: JsonObject): JsonObject {
  if (!served.stored.strategy.tracksGeneration || jsonEquals(object["spec"], existing["spec"])) return object;
  const generation = Number(objectAt(existing, "metadata")["generation"] ?? 0) + 1;
  return { ...object, metadata: { ...objectAt(object, "metadata"), generation } };
}

function decideChange(
  served: ServedResource,
  strategy: SubresourceStrategy,
  to: { object: JsonObject; existing: JsonObject; name: string; inKind: KindContext },
): ObjectChange {
  const { object, existing, name } = to;
  const metadata = objectAt(object, "metadata");
  const errors = [
    ...updateMetadataErrors(served, { metadata, existing: objectAt(existing, "metadata"), sent: {} }, "status"),
    ...strategy.errors(object, existing, to.inKind),
  ];
  if (errors.length > 0) throw invalid({ group: served.groupVersion.group, kind: served.kind }, name, errors);
  return { kind: removesLastFinalizer(metadata, existing) ? "remove" : "store", object };
}

/** True if this write removes the last finalizer of an object that is being deleted. */
function removesLastFinalizer(metadata: JsonObject, existing: JsonObject): boolean {
  if (metadata["deletionTimestamp"] === undefined || stringsAt(metadata, "finalizers").length > 0) return false;
  return (
    stringsAt(objectAt(existing, "metadata"), "finalizers").length > 0 &&
    Number(metadata["deletionGracePeriodSeconds"] ?? 0) === 0
  );
}

/** Returns the metadata of the request, with the stored values of the fields that only the server writes. */
export function passMetadata(requested: JsonObject, existing: JsonObject): JsonObject {
  const before = objectAt(existing, "metadata");
  const { selfLink: _link, ...metadata } = objectAt(requested, "metadata");
  for (const field of SERVER_OWNED) {
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = before[field];
  }
  return metadata;
}
