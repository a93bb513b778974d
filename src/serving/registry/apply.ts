/**
 * Server-side apply: an update that merges the applied configuration into the stored object and computes the
 * managedFields.
 */
import { parseGroupVersion } from "../../meta/group-version.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { badRequest, conflict, isReason, requestEntityTooLarge, StatusError } from "../../meta/status-error.ts";
import { applyObject, type Apply, type ApplyOutcome } from "../../objects/managed-fields/apply.ts";
import { conflictsText, ownerText, type FieldConflict } from "../../objects/managed-fields/conflicts.ts";
import { withoutNulls } from "../../objects/managed-fields/nulls.ts";
import { FieldSetError, pathText } from "../../objects/managed-fields/path-element.ts";
import { fillStatusItems, omitZeros, type GoZeros } from "../../objects/go/go-zeros.ts";
import { jsonLength } from "../../objects/patch/json-size.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import { absentFields, fromVersion, inVersion } from "./managed-fields.ts";
import { resetFields } from "./reset-fields.ts";
import type { ServedResource } from "./resource.ts";
import { update, type Updated, type UpdateRequest } from "./update.ts";

export interface AppliedObject extends Pick<Apply, "applied" | "sent" | "hasNull"> {
  /**
   * The zero values of Go types. A manager owns a zero value that it applies, even if the stored object omits the
   * field.
   */
  readonly zeros?: GoZeros | undefined;
  /** Called if there is no conflict. Throws the errors of the body that a conflict would take precedence over. */
  readonly accept?: () => void;
}

interface ApplyRequest<F extends Forwarded> extends Omit<UpdateRequest, "next" | "verb" | "isApply"> {
  readonly force: boolean;
  /** Returns the body, which is decoded once. Throws if the body is invalid. */
  readonly applied: () => AppliedObject | F;
  /** Maximum size of the object after the merge. */
  readonly bytesMax: number;
}

/** Maximum number of attempts if another client creates the object before each of them. */
const CREATION_ATTEMPTS_MAX = 5;

export async function apply<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  { applied, force, bytesMax, ...request }: ApplyRequest<F>,
): Promise<Updated | F> {
  const { manager, endpoint } = request;
  const next = (existing: JsonObject): JsonObject | F => {
    const body = applied();
    if (body instanceof Forwarded) return body;
    return appliedTo(context, served, {
      existing,
      applied: body,
      force,
      bytesMax,
      manager,
      subresource: endpoint === "main" ? "" : endpoint,
      resetFields: resetFields(served, endpoint),
    });
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await update<F>(context, served, { ...request, verb: "patch", isApply: true, next });
    } catch (thrown) {
      if (!isReason(thrown, "AlreadyExists") || attempt === CREATION_ATTEMPTS_MAX) throw thrown;
    }
  }
}

interface ApplyTo {
  /** The existing object. Without a uid, it does not exist yet. */
  readonly existing: JsonObject;
  readonly applied: AppliedObject;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
  readonly resetFields: NonNullable<Apply["resetFields"]>;
  readonly bytesMax: number;
}

/** Returns the merged object with its managedFields, before defaulting. The caller may change it. */
export function appliedTo(context: RegistryContext, served: ServedResource, to: ApplyTo): JsonObject {
  const live = isStored(to.existing) ? to.existing : undefined;
  rejectOtherUid(served, to.applied.sent, live);
  const outcome = applyOutcome(to.applied.sent, {
    ...to.applied,
    // Null means absent only in built-in (Go) types.
    hasNull: to.applied.hasNull && served.custom === undefined,
    live,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: to.manager,
    force: to.force,
    subresource: to.subresource,
    time: timestamp(context.clock),
    resetFields: to.resetFields,
    absentFields: absentFields(served),
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
    fromVersion: (object, apiVersion) => fromVersion(object, served, apiVersion),
  });
  if (outcome.kind === "conflicts") throw applyConflict(outcome.conflicts);
  to.applied.accept?.();
  const { managedFields } = outcome;
  const object = to.applied.hasNull ? withCleanMetadata(outcome.object, served) : outcome.object;
  rejectGrown([object, managedFields], to);
  // Defaulting changes the object, and must not change the live object with which it shares values.
  const own = cloneJson(object);
  asGoWrites(own, served, to.applied.zeros);
  const metadata = objectAt(own, "metadata");
  return { ...own, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** Removes nulls from the metadata of a custom resource, because metadata has Go types. */
function withCleanMetadata(object: JsonObject, { custom, schema }: ServedResource): JsonObject {
  if (custom === undefined) return object;
  return { ...object, ...withoutNulls({ metadata: objectAt(object, "metadata") }, schema) };
}

/** Changes the object to the form that Go would write: omits zero values and completes the items of status lists. */
function asGoWrites(object: JsonObject, { schema }: ServedResource, zeros: GoZeros | undefined): void {
  if (zeros === undefined) return;
  omitZeros(object, schema, zeros);
  fillStatusItems(object, schema, zeros);
}

/** Rejects an apply that enlarges the object if the result exceeds the size limit of a request body. */
function rejectGrown(parts: readonly unknown[], { existing, bytesMax }: ApplyTo): void {
  if (jsonLength(parts, bytesMax) <= bytesMax) return;
  if (jsonLength(parts, Infinity) > jsonLength(existing, Infinity)) {
    throw requestEntityTooLarge(`limit is ${bytesMax}`);
  }
}

function isStored(object: JsonObject): boolean {
  return stringAt(objectAt(object, "metadata"), "uid") !== "";
}

/** Rejects a uid if the object does not exist yet. */
function rejectOtherUid(served: ServedResource, sent: JsonObject, live: JsonObject | undefined): void {
  const metadata = objectAt(sent, "metadata");
  const uid = stringAt(metadata, "uid");
  if (live !== undefined || uid === "") return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(served.groupResource, stringAt(metadata, "name"), why);
}

/** Merges `applied`. Throws errors with the messages of kubernetes. */
export function applyOutcome(sent: JsonObject, what: Apply): Exclude<ApplyOutcome, { kind: "unfit" }> {
  const outcome = outcomeOf(sent, what);
  if (outcome.kind === "unfit") throw new StatusError("", outcome.message);
  return outcome;
}

function outcomeOf(sent: JsonObject, what: Apply): ApplyOutcome {
  try {
    return applyObject(what);
  } catch (thrown) {
    if (!(thrown instanceof FieldSetError)) throw thrown;
    throw new StatusError("", `failed to create typed live object (${objectText(sent)}): ${thrown.message}`);
  }
}

/** The object as in kubernetes' apply messages: `default/web; apps/v1, Kind=Deployment`. */
export function objectText(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}; ${kindText(object)}`;
}

/** The kind as in kubernetes' apply messages: `apps/v1, Kind=Deployment` or `/v1, Kind=ConfigMap`. */
export function kindText(object: JsonObject): string {
  const apiVersion = stringAt(object, "apiVersion");
  // As kubernetes: a malformed apiVersion is omitted, and so is the kind.
  if (apiVersion.split("/").length > 2) return "/, Kind=";
  const { group, version } = parseGroupVersion(apiVersion);
  return `${group}/${version}, Kind=${stringAt(object, "kind")}`;
}

/** DIFFERS: at most this many conflicts are listed. */
const CONFLICTS_MAX = 1000;

export function applyConflict(conflicts: readonly FieldConflict[]): StatusError {
  const shown = conflicts.slice(0, CONFLICTS_MAX);
  const causes = shown.map((one) => ({
    reason: "FieldManagerConflict" as const,
    message: `conflict with ${ownerText(one)}`,
    field: pathText(one.path),
  }));
  return new StatusError("Conflict", conflictsText(shown), { details: { causes } });
}

/**
 * Rejects an object of another kind than the path serves, and an object with managedFields, with the messages of
 * kubernetes.
 */
export function rejectUnappliable(served: ServedResource, sent: JsonObject): void {
  if (sent["apiVersion"] !== served.apiVersion || sent["kind"] !== served.kind)
    throw badRequest(`invalid object type: ${kindText(sent)}`);
  const { managedFields } = objectAt(sent, "metadata");
  if (managedFields !== undefined && managedFields !== null) throw badRequest("metadata.managedFields must be nil");
}
