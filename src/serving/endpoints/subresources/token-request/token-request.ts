/** Serves POST serviceaccounts/x/token, which issues a token for the service account. */
import { invalidValue } from "../../../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import { conflict, invalid, type FieldError } from "../../../../meta/status-error.ts";
import { timestampAt } from "../../../../meta/timestamp.ts";
import { trackUpdate } from "../../../../objects/managed-fields/manager.ts";
import type { Admission } from "../../../registry/admission.ts";
import { Forwarded } from "../../../registry/forwarded-request.ts";
import { rejectCreationOutsideLiveNamespace } from "../../../registry/namespace-lifecycle.ts";
import { rejectForeignNamespace } from "../../../registry/preconditions.ts";
import { get } from "../../../registry/read.ts";
import { objectIn } from "../../../registry/representation.ts";
import type { ServedResource } from "../../../registry/resource.ts";
import { decodeObject, warningHeaders } from "../../decode-body.ts";
import type { EndpointCall, EndpointResponse } from "../../endpoint.ts";
import { optionsObject, writeOptions } from "../../options.ts";
import type { Representation } from "../../render/negotiate.ts";
import { chunksResponse, errorResponseWithWarnings, rendererFor } from "../../render/respond.ts";
import { boundObject, identity, type Bound } from "./bound-object.ts";
import { TOKEN_REQUEST, tokenRequestKind } from "./request-kind.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";
import type { IssueToken, NamedObject } from "./token-request-spec.ts";

/** The token settings of this server. */
export interface TokenRequests {
  readonly issue: IssueToken;
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  /** The audiences of a token request without audiences. */
  readonly apiAudiences: readonly string[];
  /** Maximum expiration that a client may request; 0 for no limit. */
  readonly maxExpirationSeconds: number;
  /**
   * True if this server extends a pod token to a year when it is requested for 3607 seconds, as projected token volumes
   * do, and only for the audiences of this API server. The use of the token after 3607 seconds is recorded.
   */
  readonly extendsExpiration: boolean;
}

interface TokenRequestContext {
  readonly representation: Representation;
  readonly tokens: TokenRequests;
  /** Adds an annotation to the audit event of the request. */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
}

const DEFAULT_SECONDS = 3600;
const SECONDS_MIN = 600;
const SECONDS_MAX = 2 ** 32;
/**
 * The expiration in the projected token volumes that admission adds to pods: an hour plus seven seconds, which
 * distinguish these requests from requests for an hour.
 */
const EXTENDED_WHEN_SECONDS = 3607;
const EXTENDED_TO_SECONDS = 365 * 24 * 3600;

const ISSUED_CREDENTIAL = "authentication.kubernetes.io/issued-credential-id";

/** Issues a token. As kubernetes: a dry run returns a valid token too. */
export async function tokenRequestEndpoint(
  call: EndpointCall,
  context: TokenRequestContext,
): Promise<EndpointResponse> {
  const { served, request } = call;
  const { dryRun, fieldValidation, manager } = writeOptions(request, "CreateOptions");
  const kind = tokenRequestKind(served);
  const decoded = await decodeObject({ ...call, served: kind }, fieldValidation);
  if (decoded instanceof Forwarded) return decoded;
  const { object } = decoded;
  const warnings = [...decoded.warnings];
  try {
    const admission = call.admit?.({ kind, dryRun, options: optionsObject(request, "CreateOptions") });
    const wanted = await admitted(call, kind, { object, manager, admission });
    const response = await issuedFor(call, context, { wanted, admission, warn: (text) => warnings.push(text) });
    const renderer = rendererFor(context.representation, kind, { request, clock: call.context.clock });
    return chunksResponse(201, renderer.object(response), warningHeaders(warnings));
  } catch (thrown) {
    return errorResponseWithWarnings(thrown, warnings);
  }
}

interface Sent {
  readonly object: JsonObject;
  readonly manager: string;
  readonly admission: Admission | undefined;
}

/** Adds defaults and managedFields, and runs mutating admission. */
async function admitted(call: EndpointCall, kind: ServedResource, sent: Sent): Promise<JsonObject> {
  const { context, served, request } = call;
  const { namespace, name } = request.info;
  rejectForeignNamespace(sent.object, namespace);
  await rejectCreationOutsideLiveNamespace(context, served.groupResource, { namespace, name });
  const given = objectAt(sent.object, "spec");
  const spec = { ...given, expirationSeconds: given["expirationSeconds"] ?? DEFAULT_SECONDS };
  const { managedFields: _sent, ...metadata } = objectAt(sent.object, "metadata");
  const next = { ...sent.object, metadata: { ...metadata, namespace }, spec };
  const managedFields = trackUpdate({
    live: undefined,
    next,
    schema: kind.schema,
    apiVersion: kind.apiVersion,
    manager: sent.manager,
    subresource: "token",
    time: timestampAt(context.clock.now()),
  });
  const owners = managedFields?.map(withoutReferenceItself);
  const owned = owners === undefined ? next : { ...next, metadata: { ...next.metadata, managedFields: owners } };
  const write = { operation: "CREATE", name, object: owned, existing: undefined } as const;
  return sent.admission === undefined ? owned : sent.admission.mutate(write);
}

/** As kubernetes: no manager owns boundObjectRef itself, because the field is always present, at least as null. */
function withoutReferenceItself(entry: JsonObject): JsonObject {
  const fields = objectAt(entry, "fieldsV1");
  const spec = objectAt(fields, "f:spec");
  const { ".": itself, ...members } = objectAt(spec, "f:boundObjectRef");
  if (itself === undefined) return entry;
  return { ...entry, fieldsV1: { ...fields, "f:spec": { ...spec, "f:boundObjectRef": members } } };
}

interface Wanted {
  readonly wanted: JsonObject;
  readonly admission: Admission | undefined;
  readonly warn: (text: string) => void;
}

async function issuedFor(
  call: EndpointCall,
  { tokens, annotate }: TokenRequestContext,
  { wanted, admission, warn }: Wanted,
): Promise<JsonObject> {
  const { context, served, request } = call;
  const { namespace, name } = request.info;
  rejectOtherName(wanted, name);
  const account = await accountOf(call);
  rejectOtherUid(wanted, account, served.gates);
  // The time is read before the token is issued, so that the token is valid at least as long as the status reports.
  const nowMs = context.clock.now();
  const complete = completed(wanted, { account, namespace, nowMs, apiAudiences: tokens.apiAudiences });
  const errors = [...expirationErrors(complete)];
  if (errors.length > 0) throw invalid(TOKEN_REQUEST, "", errors);
  await admission?.validate({ operation: "CREATE", name, object: complete, existing: undefined });
  const spec = objectAt(complete, "spec");
  const { objects } = tokens;
  const bound = await boundObject(spec["boundObjectRef"], { objects, namespace, name, gates: served.gates });
  const expirationSeconds = shortened(Number(spec["expirationSeconds"]), tokens.maxExpirationSeconds, warn);
  const audiences = stringsAt(spec, "audiences");
  const { token, credentialId } = tokens.issue({
    namespace,
    serviceAccount: account,
    ...bound,
    audiences,
    ...lifetime(tokens, { expirationSeconds, audiences, bound }),
    hasId: served.gates.isOn("ServiceAccountTokenJTI"),
    nowMs,
  });
  if (credentialId !== "") annotate?.(ISSUED_CREDENTIAL, credentialId);
  return {
    kind: complete["kind"],
    apiVersion: complete["apiVersion"],
    metadata: complete["metadata"],
    spec: { audiences, expirationSeconds, boundObjectRef: spec["boundObjectRef"] ?? null },
    status: { token, expirationTimestamp: timestampAt(nowMs + expirationSeconds * 1000) },
  };
}

async function accountOf({ context, served, request }: EndpointCall): Promise<NamedObject> {
  const { namespace, name } = request.info;
  return identity(objectIn(await get(context, served, { namespace, name, freshness: { kind: "newest" } }), served));
}

function rejectOtherName(wanted: JsonObject, name: string): void {
  const given = stringAt(objectAt(wanted, "metadata"), "name");
  if (given === "" || given === name) return;
  const why = "must match the service account name if specified";
  throw invalid(TOKEN_REQUEST, name, [invalidValue("metadata.name", given, why)]);
}

function rejectOtherUid(wanted: JsonObject, { name, uid }: NamedObject, gates: ReleaseGates): void {
  const given = stringAt(objectAt(wanted, "metadata"), "uid");
  if (given === "" || given === uid || !gates.isOn("TokenRequestServiceAccountUIDValidation")) return;
  const why = `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;
  throw conflict({ group: TOKEN_REQUEST.group, resource: TOKEN_REQUEST.kind }, name, why);
}

interface Completion {
  readonly account: NamedObject;
  readonly namespace: string;
  readonly nowMs: number;
  readonly apiAudiences: readonly string[];
}

function completed(wanted: JsonObject, { account, namespace, nowMs, apiAudiences }: Completion): JsonObject {
  const { status: _sent, ...request } = wanted;
  const spec = objectAt(wanted, "spec");
  const audiences = stringsAt(spec, "audiences");
  const { name, uid } = account;
  return {
    ...request,
    metadata: { ...objectAt(wanted, "metadata"), name, namespace, uid, creationTimestamp: timestampAt(nowMs) },
    spec: { ...spec, audiences: audiences.length === 0 ? apiAudiences : audiences },
  };
}

function* expirationErrors(request: JsonObject): Generator<FieldError> {
  const field = "spec.expirationSeconds";
  const seconds = Number(objectAt(request, "spec")["expirationSeconds"]);
  if (!(seconds >= SECONDS_MIN)) yield invalidValue(field, seconds, "may not specify a duration less than 10 minutes");
  if (seconds > SECONDS_MAX) yield invalidValue(field, seconds, "may not specify a duration larger than 2^32 seconds");
}

function shortened(seconds: number, max: number, warn: (text: string) => void): number {
  if (max <= 0 || seconds <= max) return seconds;
  warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
  return max;
}

interface Life {
  readonly expirationSeconds: number;
  readonly audiences: readonly string[];
  readonly bound: Bound;
}

/**
 * Extends the expiration of pod tokens, so that clients that do not reload their token do not fail after an hour. Their
 * use of the old token is recorded instead.
 */
function lifetime(
  { extendsExpiration, apiAudiences }: TokenRequests,
  { expirationSeconds, audiences, bound }: Life,
): { readonly expirationSeconds: number; readonly warnAfterSeconds?: number } {
  const own = new Set(apiAudiences);
  const isExtended =
    extendsExpiration &&
    bound.pod !== undefined &&
    expirationSeconds === EXTENDED_WHEN_SECONDS &&
    audiences.every((audience) => own.has(audience));
  return isExtended
    ? { expirationSeconds: EXTENDED_TO_SECONDS, warnAfterSeconds: expirationSeconds }
    : { expirationSeconds };
}
