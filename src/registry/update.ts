import { objectAt, stringAt, stringsAt, type JsonObject } from "../meta/json.ts";
import { parseUintError } from "../meta/resource-version.ts";
import { badRequest, conflict, invalid, notFound, StatusError } from "../meta/status-error.ts";
import type { Entry } from "../storage/watch-cache/entry.ts";
import type { RegistryContext, Written } from "./context.ts";
import { create } from "./create.ts";
import { guaranteedUpdate, type Change } from "./guaranteed-update.ts";
import { kindRules } from "./kind-rules.ts";
import { withDefaults } from "./defaults.ts";
import { withManagedFields } from "./managed-fields.ts";
import { invalidValue, metadataErrors, metadataUpdateErrors } from "./metadata-validation.ts";
import { prepareForUpdate, type Door } from "./prepare.ts";
import { objectKey, type ServedResource } from "./resource.ts";
import { withAllocation } from "./services/service-allocation.ts";

export interface UpdateRequest {
  readonly namespace: string;
  readonly name: string;
  readonly door: Door;
  readonly dryRun: boolean;
  /** Who comes to own what changes. */
  readonly manager: string;
  /** The new object in the served version: decoded for a PUT, made from the current one for a patch. */
  readonly next: (existing: JsonObject) => JsonObject | Promise<JsonObject>;
  /** PUT demands a resourceVersion of some kinds; a patch is applied again to whatever is there. */
  readonly verb: "update" | "patch";
}

export interface Updated {
  readonly written: Written;
  readonly isCreated: boolean;
}

export async function update(context: RegistryContext, served: ServedResource, request: UpdateRequest): Promise<Updated> {
  // A PUT that contradicts its own path is wrong whether or not the object exists.
  if (request.verb === "update") refuseMisplaced(await request.next({}), request);
  let isCreated = false;
  const { stored } = served;
  const written = await withAllocation(context, served, request.dryRun, (allocation) => guaranteedUpdate(context, served, {
    key: objectKey(stored, request.namespace, request.name),
    dryRun: request.dryRun,
    decide: async (existing, entry) => {
      const object = await request.next(existing);
      refuseMisplaced(object, request);
      refuseOutdated(served, { object, entry, existing, request });
      const tracked = withManagedFields(context, served, { live: existing, next: withDefaults(served, object), manager: request.manager, door: request.door });
      return allocation.apply(decideChange(served, tracked, { existing, request }), existing);
    },
    absent: async () => {
      if (!stored.strategy.allowsCreateOnUpdate || request.verb === "patch" || request.door !== "main") throw notFound(served.groupResource, request.name);
      isCreated = true;
      await allocation.revert();
      const object = withoutRevision(served, await request.next({}), request);
      return create(context, served, { namespace: request.namespace, object, manager: request.manager, dryRun: request.dryRun });
    },
  }));
  return { written, isCreated };
}

function decideChange(served: ServedResource, object: JsonObject, against: { existing: JsonObject; request: UpdateRequest }): Change {
  const { existing, request } = against;
  const prepared = prepareForUpdate(served, object, existing, request.door);
  const metadata = objectAt(prepared, "metadata");
  const updateErrors = metadataUpdateErrors(metadata, objectAt(existing, "metadata"));
  const errors = [
    ...updateErrors,
    // As kubernetes: the generic update check runs once more inside each kind's own validation.
    ...updateErrors,
    ...metadataErrors(metadata, { nameRule: () => [], namespaced: served.stored.namespaced }),
    ...(request.door === "main" ? kindRules(served).onUpdate(prepared, existing) : []),
  ];
  if (errors.length > 0) throw invalid({ group: served.groupVersion.group, kind: served.kind }, request.name, errors);
  return isFinallyDeleted(served, prepared) ? { kind: "remove", object: prepared } : { kind: "store", object: prepared };
}

/** The write that empties the finalizers of an object being deleted is the one that deletes it. */
function isFinallyDeleted(served: ServedResource, object: JsonObject): boolean {
  const metadata = objectAt(object, "metadata");
  if (metadata["deletionTimestamp"] === undefined || stringsAt(metadata, "finalizers").length > 0) return false;
  if (served.stored.strategy.life === "namespace") return stringsAt(objectAt(object, "spec"), "finalizers").length === 0;
  return Number(metadata["deletionGracePeriodSeconds"] ?? 0) === 0;
}

function refuseMisplaced(object: JsonObject, request: UpdateRequest): void {
  const metadata = objectAt(object, "metadata");
  const name = stringAt(metadata, "name");
  if (name === "") throw badRequest(`the name of the object (${request.name} based on URL) was undeterminable: name must be provided`);
  if (name !== request.name) throw badRequest(`the name of the object (${name}) does not match the name on the URL (${request.name})`);
  const namespace = stringAt(metadata, "namespace");
  if (namespace !== "" && namespace !== request.namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";

function refuseOutdated(served: ServedResource, against: { object: JsonObject; existing: JsonObject; entry: Entry; request: UpdateRequest }): void {
  const { object, existing, entry, request } = against;
  const metadata = objectAt(object, "metadata");
  const uid = stringAt(metadata, "uid");
  const existingUid = stringAt(objectAt(existing, "metadata"), "uid");
  if (uid !== "" && uid !== existingUid) {
    throw conflict(
      served.groupResource,
      request.name,
      `StorageError: invalid object, Code: 4, Key: ${entry.key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${existingUid}`,
    );
  }
  const version = stringAt(metadata, "resourceVersion");
  if (version === "" || version === "0") {
    if (request.verb === "update" && !served.stored.strategy.allowsUnconditionalUpdate) {
      throw invalid({ group: served.groupVersion.group, kind: served.kind }, request.name, [
        invalidValue("metadata.resourceVersion", 0, "must be specified for an update"),
      ]);
    }
    return;
  }
  const malformed = parseUintError(version);
  if (malformed !== undefined) throw new StatusError("", malformed);
  if (version !== String(entry.modRevision)) throw conflict(served.groupResource, request.name, MODIFIED);
}

/** An object that must not exist yet cannot have been seen at a version. */
function withoutRevision(served: ServedResource, object: JsonObject, request: UpdateRequest): JsonObject {
  const { resourceVersion, ...metadata } = objectAt(object, "metadata");
  if (typeof resourceVersion === "string" && resourceVersion !== "" && resourceVersion !== "0") throw conflict(served.groupResource, request.name, MODIFIED);
  return { ...object, metadata };
}
