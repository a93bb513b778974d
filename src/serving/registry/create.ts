/** Creates an object: defaulting, admission, validation, name generation, and the write with its guards. */
import { firstErrors } from "../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { generateName } from "../../meta/names.ts";
import { parseUintError } from "../../meta/resource-version.ts";
import { alreadyExists, badRequest, invalid, StatusError } from "../../meta/status-error.ts";
import type { Admission } from "./admission.ts";
import type { RegistryContext, Written } from "./context.ts";
import { kindContext, withDefaults } from "./defaults.ts";
import { createdManagedFields } from "./managed-fields.ts";
import { metadataChecks } from "./metadata-checks.ts";
import { metadataErrors } from "./metadata-validation.ts";
import {
  rejectCreationOutsideLiveNamespace,
  rejectCreationOutsideNewestNamespace,
  type CreationPlace,
} from "./namespace-lifecycle.ts";
import { rejectForeignNamespace } from "./preconditions.ts";
import { prepareForCreate, withSentLists } from "./prepare.ts";
import { conversionOf, encodeForStorage } from "./representation.ts";
import { groupKind, objectKey, type ServedResource } from "./resource.ts";
import { withAllocation, type Allocation } from "./allocation.ts";
import { writeEncoded, type WriteGuards } from "./write-encoded.ts";

/** Number of generated names that are tried before the request fails. */
const GENERATED_NAME_ATTEMPTS = 8;

export interface RequestUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

interface CreateRequest {
  readonly namespace: string;
  /** The name in the path, if a PUT or apply creates the object because it is absent. */
  readonly name?: string;
  /** The decoded and type-checked object in the served version. */
  readonly object: JsonObject;
  /** The field manager that will own the fields of the object. */
  readonly manager: string;
  /** The user of the request, who becomes the requester of a CertificateSigningRequest. */
  readonly requester?: RequestUser | undefined;
  readonly dryRun: boolean;
  /** True for an apply, whose object already contains its managedFields. */
  readonly isApplied?: boolean;
  readonly admission?: Admission | undefined;
  /** Receives the warnings about the object, even if the object is then rejected. */
  readonly onWarnings?: ((warnings: readonly string[]) => void) | undefined;
}

/** The object to create after mutating admission. Its name may still have to be generated. */
interface Wanted {
  readonly object: JsonObject;
  /**
   * The managedFields as JSON text, separate from the object, because nothing reads them before the object is stored.
   */
  readonly managedFields: string | undefined;
  /** True if the client sent managedFields. */
  readonly sendsOwners: boolean;
}

export async function create(
  context: RegistryContext,
  served: ServedResource,
  request: CreateRequest,
): Promise<Written> {
  const metadata = objectAt(request.object, "metadata");
  const placed = placeInNamespace(served, metadata, request.namespace);
  const name = stringAt(placed, "name");
  const { groupResource } = served;
  const at: CreationPlace = { namespace: request.namespace, name };
  const place = await placeOf(context, served, at);
  const wanted = await admitted(context, served, { ...request, object: { ...request.object, metadata: placed } });
  const generated = stringAt(objectAt(wanted.object, "metadata"), "generateName");
  const generates = name === "" && generated !== "";
  for (let attempt = 1; ; attempt++) {
    const given = generates ? generateName(generated, context.random) : name;
    const named = generates ? { ...wanted, object: withName(wanted.object, given) } : wanted;
    const written = await withAllocation(context, served, request.dryRun, (allocation) =>
      createNamed(context, served, { ...request, ...named, place }, allocation),
    );
    if (written !== undefined) return written;
    if (!generates) throw alreadyExists(groupResource, name);
    if (attempt === GENERATED_NAME_ATTEMPTS) throw generatedNameTaken(served, given);
  }
}

/** Adds defaults and managedFields, and runs mutating admission. */
async function admitted(context: RegistryContext, served: ServedResource, request: CreateRequest): Promise<Wanted> {
  const { admission } = request;
  const next = withDefaults(context, served, withoutSystemFields(withRequester(served, request)));
  const managedFields =
    request.isApplied === true
      ? managedFieldsText(next)
      : createdManagedFields(context, served, { next, manager: request.manager });
  const object = withoutManagedFields(next);
  const sendsOwners = objectAt(request.object, "metadata")["managedFields"] !== undefined;
  if (admission === undefined) return { object, managedFields, sendsOwners };
  const name = stringAt(objectAt(object, "metadata"), "name");
  const omitsManagedFields = admission.omitsManagedFields?.() === true;
  const whole = omitsManagedFields ? object : withManagedFields(object, managedFields);
  const given = await admission.mutate({ operation: "CREATE", name, object: whole, existing: undefined });
  if (given === whole) return { object, managedFields, sendsOwners };
  // Only the registry sets the creation and deletion timestamps.
  const mutated = withoutSystemFields(given);
  rejectForeignNamespace(mutated, request.namespace);
  if (omitsManagedFields) return { object: mutated, managedFields, sendsOwners };
  return { object: withoutManagedFields(mutated), managedFields: managedFieldsText(mutated), sendsOwners };
}

function withName(object: JsonObject, name: string): JsonObject {
  return { ...object, metadata: { ...objectAt(object, "metadata"), name } };
}

/** The guards that must hold when the object is stored: on its namespace, and on the CRD of its kind. */
async function placeOf(context: RegistryContext, served: ServedResource, at: CreationPlace): Promise<WriteGuards> {
  const { custom, groupResource } = served;
  const { namespaced } = served.stored;
  const definition = await custom?.rejectCreation(at.name, "known");
  const namespace = namespaced ? await rejectCreationOutsideLiveNamespace(context, groupResource, at) : undefined;
  return {
    guards: [definition, namespace].filter((guard) => guard !== undefined),
    async look() {
      const definitionNow = await custom?.rejectCreation(at.name, "newest");
      const namespaceNow = namespaced
        ? await rejectCreationOutsideNewestNamespace(context, groupResource, at)
        : undefined;
      return [definitionNow, namespaceNow].filter((guard) => guard !== undefined);
    },
  };
}

/** Validates and stores the object. Returns undefined if an object with this name exists. */
async function createNamed(
  context: RegistryContext,
  served: ServedResource,
  request: CreateRequest & Wanted & { readonly place: WriteGuards },
  allocation: Allocation,
): Promise<Written | undefined> {
  const { managedFields } = request;
  const object = prepareForCreate(context, served, request.object);
  const metadata = objectAt(object, "metadata");
  const { takesAnyFinalizer } = metadataChecks(served.groupResource, served.schema.isCustom === true);
  const name = stringAt(metadata, "name");
  const { stored } = served;
  const inKind = kindContext(context, served);
  const errors = [
    ...metadataErrors(
      { ...metadata, managedFields: sentManagedFields(request, managedFields) },
      { nameRule: stored.strategy.nameRule, namespaced: stored.namespaced, takesAnyFinalizer },
    ),
    ...firstErrors(served.meaning.createErrors?.(object, inKind) ?? []),
  ];
  if (errors.length > 0) throw invalid(groupKind(served), name, errors);
  const warnings = [...(served.meaning.warnings?.(object, undefined, inKind) ?? [])];
  request.onWarnings?.(warnings);
  // As kubernetes: validating admission sees the allocated numbers.
  const complete = await allocation.assign(object);
  await validate(request, { name, object: withSentLists(complete, request.object) });
  const key = objectKey(stored, request.namespace, name);
  if (request.dryRun) {
    await request.place.look();
    if ((await context.store.get(key, { kind: "newest" })) !== undefined) return undefined;
    return { object: withManagedFields(complete, managedFields), warnings };
  }
  rejectResourceVersion(metadata);
  const { ttlSeconds } = stored.strategy;
  const lease = ttlSeconds === undefined ? undefined : await context.leases.leaseFor(ttlSeconds);
  const { rememberObject } = context.store;
  const result = await writeEncoded(
    served,
    async (version, guards) => {
      const bytes = await encodeForStorage(complete, served, version, { rememberObject, managedFields });
      return context.store.create(key, bytes, lease, guards);
    },
    allocation.guarded(request.place),
  );
  if (!result.committed) return undefined;
  if (served.custom !== undefined) await conversionOf([result.entry], served);
  return { entry: result.entry, warnings };
}

async function validate(
  { admission, managedFields }: CreateRequest & Wanted,
  { name, object }: { readonly name: string; readonly object: JsonObject },
): Promise<void> {
  if (admission === undefined) return;
  const write = { operation: "CREATE", name, existing: undefined } as const;
  const whole = admission.omitsManagedFields?.() === true ? object : withManagedFields(object, managedFields);
  await admission.validate({ ...write, object: whole });
}

/** Rejects an object with a resourceVersion, because it does not exist yet. A value that is not a number is ignored. */
function rejectResourceVersion(metadata: JsonObject): void {
  const version = stringAt(metadata, "resourceVersion");
  if (parseUintError(version) === undefined && Number(version) !== 0)
    throw new StatusError("", "resourceVersion should not be set on objects to be created");
}

/** Returns the managedFields if the client sent them. Those that the server computed need no validation. */
function sentManagedFields({ isApplied, sendsOwners }: Wanted & CreateRequest, text: string | undefined): unknown {
  if (isApplied === true || !sendsOwners || text === undefined) return undefined;
  return JSON.parse(text) as unknown;
}

function managedFieldsText(object: JsonObject): string | undefined {
  const { managedFields } = objectAt(object, "metadata");
  return managedFields === undefined ? undefined : JSON.stringify(managedFields);
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const { managedFields: _sent, ...metadata } = objectAt(object, "metadata");
  return { ...object, metadata };
}

function withManagedFields(object: JsonObject, text: string | undefined): JsonObject {
  if (text === undefined) return object;
  return { ...object, metadata: { ...objectAt(object, "metadata"), managedFields: JSON.parse(text) as unknown } };
}

/**
 * Sets the requester in the spec of a CertificateSigningRequest. Signers trust these fields, so the values of the
 * client are removed.
 */
function withRequester(served: ServedResource, { object, requester }: CreateRequest): JsonObject {
  if (served.groupVersion.group !== "certificates.k8s.io" || served.kind !== "CertificateSigningRequest") return object;
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = objectAt(object, "spec");
  if (requester === undefined) return { ...object, spec };
  const { name, uid, groups, extra } = requester;
  const about = {
    username: name,
    ...(uid === "" ? {} : { uid }),
    groups,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
  return { ...object, spec: { ...spec, ...about } };
}

/** Removes fields that only the server writes, so that the field manager of the client does not become their owner. */
export function withoutSystemFields(object: JsonObject): JsonObject {
  const {
    uid: _uid,
    creationTimestamp: _created,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    selfLink: _link,
    ...metadata
  } = objectAt(object, "metadata");
  return { ...object, metadata };
}

function placeInNamespace(served: ServedResource, metadata: JsonObject, namespace: string): JsonObject {
  const given = stringAt(metadata, "namespace");
  if (!served.stored.namespaced) {
    const { namespace: _meaningless, ...rest } = metadata;
    return given === "" ? metadata : rest;
  }
  if (given !== "" && given !== namespace)
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  return { ...metadata, namespace };
}

function generatedNameTaken(served: ServedResource, name: string): StatusError {
  const taken = alreadyExists(served.groupResource, name);
  return new StatusError(
    "AlreadyExists",
    `${taken.message}, the server was not able to generate a unique name for the object`,
    {
      details: { ...taken.details, retryAfterSeconds: 1 },
    },
  );
}
