/**
 * Updates an object by PUT, PATCH or apply: admission, managedFields, validation and the write; may create an absent
 * object.
 */
import { namespaceFinalizeErrors } from "../../objects/kinds/core/namespace.ts";
import { firstErrors, invalidValue } from "../../meta/field-errors.ts";
import { jsonEquals, objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { conflict, invalid, notFound, type FieldError } from "../../meta/status-error.ts";
import type { Admission } from "./admission.ts";
import type { RegistryContext, Written } from "./context.ts";
import { create, type RequestUser } from "./create.ts";
import { Forwarded } from "./forwarded-request.ts";
import { guaranteedUpdate, type ObjectChange } from "./guaranteed-update.ts";
import { kindContext, withDefaults } from "./defaults.ts";
import { withManagedFields, withoutTimeChanges } from "./managed-fields.ts";
import { rejectRemovalOfNonEmptyNamespace } from "./namespace-finalize.ts";
import { inNamespace, MODIFIED, rejectMisplaced, rejectOutdated } from "./preconditions.ts";
import { prepareForUpdate, withSentLists, type UpdateEndpoint } from "./prepare.ts";
import { groupKind, objectKey, type ServedResource } from "./resource.ts";
import { withAllocation } from "./allocation.ts";
import { updateMetadataErrors } from "./update-metadata.ts";

/**
 * `F` is the type of a forwarded request, for callers that may forward. It is never inferred, so other callers receive
 * an updated object.
 */
export interface UpdateRequest<F extends Forwarded = Forwarded> {
  readonly namespace: string;
  readonly name: string;
  readonly endpoint: UpdateEndpoint;
  readonly dryRun: boolean;
  /** The field manager that will own the changed fields. */
  readonly manager: string;
  /** Returns the new object in the served version: the body of a PUT, or the current object after a patch. */
  readonly next: (existing: JsonObject) => JsonObject | NoInfer<F> | Promise<JsonObject | NoInfer<F>>;
  /** Some kinds require a resourceVersion for an update. A patch is applied again if the object has changed. */
  readonly verb: "update" | "patch";
  /** True for an apply: `next` returns the object with managedFields, and an absent object is created. */
  readonly isApply?: boolean;
  readonly requester?: RequestUser | undefined;
  readonly admission?: Admission | undefined;
  /** Receives the warnings about the object, even if the object is then rejected. */
  readonly onWarnings?: ((warnings: readonly string[]) => void) | undefined;
  /** Throws if the user may not create the object. Called if the object is absent. */
  readonly rejectCreation?: (() => Promise<void>) | undefined;
}

export interface Updated {
  readonly written: Written;
  readonly isCreated: boolean;
}

export async function update<F extends Forwarded = never>(
  context: RegistryContext,
  served: ServedResource,
  request: UpdateRequest<F>,
): Promise<Updated | F> {
  let isCreated = false;
  const { stored } = served;
  const written = await withAllocation(context, served, request.dryRun, (allocation) =>
    guaranteedUpdate<F>(context, served, {
      key: objectKey(stored, request.namespace, request.name),
      dryRun: request.dryRun,
      decide: async (existing, entry) => {
        const sent = await request.next(existing);
        if (sent instanceof Forwarded) return sent;
        rejectMisplaced(sent, request);
        const object = stored.namespaced ? inNamespace(sent, request.namespace) : sent;
        rejectOutdated(served, { object, entry, existing, isPatch: request.verb === "patch" });
        rejectUnconditional(served, object, request);
        const within = withinEndpoint(served, object, { existing, endpoint: request.endpoint });
        // Nearly no stored value lacks defaults, and only then the object is serialized.
        const given = entry.lacksDefaults ? JSON.stringify(within) : undefined;
        const next = withDefaults(context, served, within);
        const toleratesMissingDefaults = given !== undefined && !mayAddDefaults(request, given, next);
        const { manager, endpoint, name, admission } = request;
        const tracked =
          request.isApply === true
            ? next
            : withManagedFields(context, served, { live: existing, next, manager, endpoint });
        const write = { operation: "UPDATE", name, existing } as const;
        const admitted = admission === undefined ? tracked : await admission.mutate({ ...write, object: tracked });
        if (admitted !== tracked) rejectMisplaced(admitted, request);
        const change = decideChange(context, served, admitted, { existing, request });
        request.onWarnings?.(change.kind === "store" ? (change.warnings ?? []) : []);
        // As kubernetes: validating admission sees the allocated numbers.
        const complete = { ...(await allocation.apply(change, existing)), toleratesMissingDefaults };
        if (admission !== undefined)
          await admission.validate({ ...write, object: withSentLists(complete.object, admitted) });
        await rejectRemovalOfNonEmptyNamespace(context, served, { change, existing, endpoint: request.endpoint });
        return complete;
      },
      absent: async () => {
        const isApplied = request.isApply === true && request.endpoint === "main";
        // The body is decoded even if the object cannot be created, so that errors in it are reported.
        const requested = request.verb === "update" || isApplied ? await request.next({}) : {};
        if (requested instanceof Forwarded) return requested;
        if (!isApplied && !mayCreate(served, request)) throw notFound(served.groupResource, request.name);
        if (isApplied) rejectMisplaced(requested, request);
        await request.rejectCreation?.();
        isCreated = true;
        await allocation.revert();
        const { namespace, manager, dryRun, requester, admission, onWarnings } = request;
        const object = withoutRevision(served, requested, request);
        return create(context, served, {
          namespace,
          object,
          manager,
          dryRun,
          requester,
          isApplied,
          admission,
          onWarnings,
        });
      },
    }),
  );
  return written instanceof Forwarded ? written : { written, isCreated };
}

/**
 * Whether the update is written if the stored value lacks nothing but defaults. The object as it was given must then have
 * them. DIFFERS: kube-apiserver always writes. If the client sends an object without the defaults again and again to
 * servers of two releases, the older one removes the defaults that only the newer one knows, and the object would be
 * written for ever. A controller that updates the status sends no such update for a migration.
 */
function mayAddDefaults({ endpoint }: UpdateRequest, given: string, complete: JsonObject): boolean {
  return endpoint === "main" && jsonEquals(withoutNulls(given), withoutNulls(JSON.stringify(complete)));
}

/** Decoding a request removes all nulls, and defaulting adds those that Go writes for an empty list or time. */
function withoutNulls(text: string): JsonObject {
  return JSON.parse(text, (_name, value: unknown) => value ?? undefined) as JsonObject;
}

function mayCreate({ stored }: ServedResource, { verb, endpoint }: UpdateRequest): boolean {
  return stored.strategy.allowsCreateOnUpdate && verb === "update" && endpoint === "main";
}

/**
 * Resets metadata that the endpoint cannot write. This happens before managedFields are computed, so that no manager
 * owns it.
 */
function withinEndpoint(
  { meaning }: ServedResource,
  object: JsonObject,
  { existing, endpoint }: { existing: JsonObject; endpoint: UpdateEndpoint },
): JsonObject {
  return endpoint === "status" && meaning.keepsMetadataInStatus === true
    ? withMetadataLeftAlone(object, existing)
    : object;
}

const LEFT_ALONE_BY_STATUS: readonly string[] = ["labels", "annotations", "finalizers", "ownerReferences"];

function withMetadataLeftAlone(object: JsonObject, existing: JsonObject): JsonObject {
  const metadata = { ...objectAt(object, "metadata") };
  const before = objectAt(existing, "metadata");
  for (const field of LEFT_ALONE_BY_STATUS) {
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = before[field];
  }
  return { ...object, metadata };
}

function decideChange(
  context: RegistryContext,
  served: ServedResource,
  object: JsonObject,
  against: { existing: JsonObject; request: UpdateRequest },
): ObjectChange {
  const { existing, request } = against;
  const prepared = prepareForUpdate(context, served, object, { existing, endpoint: request.endpoint });
  const metadata = objectAt(prepared, "metadata");
  const metadataChange = { metadata, existing: objectAt(existing, "metadata"), sent: objectAt(object, "metadata") };
  const errors = [
    ...firstErrors(updateMetadataErrors(served, metadataChange, request.endpoint)),
    ...firstErrors(kindErrors(context, served, prepared, { existing, endpoint: request.endpoint })),
  ];
  if (errors.length > 0) throw invalid(groupKind(served), request.name, errors);
  if (isFinallyDeleted(served, prepared)) return { kind: "remove", object: prepared };
  const warnings =
    request.endpoint === "main"
      ? served.meaning.warnings?.(prepared, existing, kindContext(context, served))
      : undefined;
  return { kind: "store", object: withoutTimeChanges(prepared, existing), warnings: [...(warnings ?? [])] };
}

function kindErrors(
  context: RegistryContext,
  served: ServedResource,
  object: JsonObject,
  { existing, endpoint }: { existing: JsonObject; endpoint: UpdateEndpoint },
): Iterable<FieldError> {
  const { meaning } = served;
  const inKind = kindContext(context, served);
  if (endpoint === "main") return meaning.updateErrors?.(object, existing, inKind) ?? [];
  if (endpoint === "status") return meaning.statusUpdateErrors?.(object, existing, inKind) ?? [];
  return namespaceFinalizeErrors(object);
}

/** True if the object is being deleted and has no finalizer left, so that this write deletes it. */
function isFinallyDeleted(served: ServedResource, object: JsonObject): boolean {
  const metadata = objectAt(object, "metadata");
  if (metadata["deletionTimestamp"] === undefined || stringsAt(metadata, "finalizers").length > 0) return false;
  if (served.stored.strategy.deletionLifecycle === "namespace")
    return stringsAt(objectAt(object, "spec"), "finalizers").length === 0;
  return Number(metadata["deletionGracePeriodSeconds"] ?? 0) === 0;
}

/** Rejects a PUT without a resourceVersion if the kind requires one. */
function rejectUnconditional(served: ServedResource, object: JsonObject, request: UpdateRequest): void {
  const version = stringAt(objectAt(object, "metadata"), "resourceVersion");
  if (
    request.verb !== "update" ||
    served.stored.strategy.allowsUnconditionalUpdate ||
    (version !== "" && version !== "0")
  )
    return;
  // As kubernetes: this is the only validation error that names the resource instead of the kind.
  const { group, resource } = served.groupResource;
  throw invalid({ group, kind: resource }, request.name, [
    invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
  ]);
}

/**
 * Removes resourceVersion before an absent object is created. Rejects it as a failed precondition, except for an apply.
 */
function withoutRevision(served: ServedResource, object: JsonObject, request: UpdateRequest): JsonObject {
  const { resourceVersion, ...metadata } = objectAt(object, "metadata");
  if (
    request.isApply !== true &&
    typeof resourceVersion === "string" &&
    resourceVersion !== "" &&
    resourceVersion !== "0"
  )
    throw conflict(served.groupResource, request.name, MODIFIED);
  return { ...object, metadata };
}
