/** Server-side apply: an update whose object, and whose owners, come from merging what is applied into what is there. */
import { parseGroupVersion } from "../../meta/group-version.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { badRequest, conflict, isReason, requestEntityTooLarge, StatusError } from "../../meta/status-error.ts";
import { applyObject, type Apply, type ApplyOutcome } from "../../objects/managed-fields/apply.ts";
import { conflictsText, ownerText, type FieldConflict } from "../../objects/managed-fields/conflicts.ts";
import { withoutNulls } from "../../objects/managed-fields/nulls.ts";
import { FieldSetError, pathText } from "../../objects/managed-fields/path-element.ts";
import { fillStatusItems, leaveOutZeros, type GoZeros } from "../../objects/go/go-zeros.ts";
import { jsonLength } from "../../objects/patch/json-size.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import { absentFields, fromVersion, inVersion } from "./managed-fields.ts";
import { resetFields } from "./reset-fields.ts";
import type { ServedResource } from "./resource.ts";
import { update, type Updated, type UpdateRequest } from "./update.ts";

export interface AppliedObject extends Pick<Apply, "applied" | "sent" | "hasNull"> {
  /** Who applies a zero owns it, whether or not the object then shows it. */
  readonly zeros?: GoZeros | undefined;
  /** Called when it conflicts with nobody: throws what is said against it when nothing else is. */
  readonly accept?: () => void;
}

interface ApplyRequest<F extends Forwarded> extends Omit<UpdateRequest, "next" | "verb" | "isApply"> {
  readonly force: boolean;
  /** Read once; throws what is wrong with it. */
  readonly applied: () => AppliedObject | F;
  /** Beyond this the object does not grow. */
  readonly bytesMax: number;
}

/** Somebody else may create or delete the object each time. */
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
  /** Without a uid there is nothing yet. */
  readonly existing: JsonObject;
  readonly applied: AppliedObject;
  readonly manager: string;
  readonly force: boolean;
  readonly subresource: string;
  readonly resetFields: NonNullable<Apply["resetFields"]>;
  readonly bytesMax: number;
}

/** The object with its managedFields, before defaults; the caller owns it. */
export function appliedTo(context: RegistryContext, served: ServedResource, to: ApplyTo): JsonObject {
  const live = isStored(to.existing) ? to.existing : undefined;
  refuseOtherUid(served, to.applied.sent, live);
  const outcome = applyOutcome(to.applied.sent, {
    ...to.applied,
    // Only of Go's types null is the same as nothing.
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
  refuseGrown([object, managedFields], to);
  // Defaults are filled in in place, and what is live must stay as it is.
  const own = cloneJson(object);
  asGoWrites(own, served, to.applied.zeros);
  const metadata = objectAt(own, "metadata");
  return { ...own, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** Metadata are of Go's types in custom resources, too. */
function withCleanMetadata(object: JsonObject, { custom, schema }: ServedResource): JsonObject {
  if (custom === undefined) return object;
  return { ...object, ...withoutNulls({ metadata: objectAt(object, "metadata") }, schema) };
}

/** In place. */
function asGoWrites(object: JsonObject, { schema }: ServedResource, zeros: GoZeros | undefined): void {
  if (zeros === undefined) return;
  leaveOutZeros(object, schema, zeros);
  fillStatusItems(object, schema, zeros);
}

/** Applier by applier an object may grow to what could be sent at once, and no further. */
function refuseGrown(parts: readonly unknown[], { existing, bytesMax }: ApplyTo): void {
  if (jsonLength(parts, bytesMax) <= bytesMax) return;
  if (jsonLength(parts, Infinity) > jsonLength(existing, Infinity)) {
    throw requestEntityTooLarge(`limit is ${bytesMax}`);
  }
}

function isStored(object: JsonObject): boolean {
  return stringAt(objectAt(object, "metadata"), "uid") !== "";
}

/** What is to be created cannot have been seen before. */
function refuseOtherUid(served: ServedResource, sent: JsonObject, live: JsonObject | undefined): void {
  const metadata = objectAt(sent, "metadata");
  const uid = stringAt(metadata, "uid");
  if (live !== undefined || uid === "") return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(served.groupResource, stringAt(metadata, "name"), why);
}

/** `applied` and a problem in Kubernetes' words. */
export function applyOutcome(sent: JsonObject, what: Apply): ApplyOutcome {
  try {
    return applyObject(what);
  } catch (thrown) {
    if (!(thrown instanceof FieldSetError)) throw thrown;
    throw new StatusError("", `failed to create typed live object (${objectText(sent)}): ${thrown.message}`);
  }
}

/** As kubernetes names an object in what it says of an apply: `default/web; apps/v1, Kind=Deployment`. */
export function objectText(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}; ${kindText(object)}`;
}

/** `apps/v1, Kind=Deployment`, and `/v1, Kind=ConfigMap`. */
export function kindText(object: JsonObject): string {
  const apiVersion = stringAt(object, "apiVersion");
  // As kubernetes: of what is no version nothing is said.
  if (apiVersion.split("/").length > 2) return "/, Kind=";
  const { group, version } = parseGroupVersion(apiVersion);
  return `${group}/${version}, Kind=${stringAt(object, "kind")}`;
}

/** DIFFERS: of more conflicts than these only the first are listed. */
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

/** Throws in Kubernetes' words for what is of another kind than the path, or says who owns what. */
export function refuseUnappliable(served: ServedResource, sent: JsonObject): void {
  if (sent["apiVersion"] !== served.apiVersion || sent["kind"] !== served.kind)
    throw badRequest(`invalid object type: ${kindText(sent)}`);
  const { managedFields } = objectAt(sent, "metadata");
  if (managedFields !== undefined && managedFields !== null) throw badRequest("metadata.managedFields must be nil");
}
