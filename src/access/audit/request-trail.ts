/** Collects the audit data of one request from its arrival to its end, and creates its events. */
import type { AccessAttributes } from "../auth/authorize.ts";
import type { User } from "../auth/user.ts";
import { headerValue, type ApiRequest } from "../../serving/http/message.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { AuditEvent, ObjectReference, ResponseStatus } from "./event.ts";
import { readAuditObject, textOf, type ReadBody, type ReadObject } from "./objects.ts";
import { isAtLeast, auditedNamespace, type AuditDecision, type AuditLevel, type AuditStage } from "./policy.ts";
import { sourceIps } from "./source-ips.ts";
import type { AuditTrail } from "../../serving/http/audit-trail.ts";

/** Maximum number and length of annotations. Both are far above what admission plugins need. */
const ANNOTATIONS_MAX = 500;
const ANNOTATION_CHARACTERS_MAX = 64 * 1024;

const USER_AGENT_BYTES_MAX = 1024;
const TRUNCATED_SUFFIX = "...TRUNCATED";

/** As kubernetes plugin/pkg/audit/truncate: the annotation of an event whose objects were omitted. */
export const TRUNCATED_ANNOTATION = "audit.k8s.io/truncated";
/** Annotations that say why a request or response object is omitted although the level includes it. */
const REQUEST_OBJECT_ANNOTATION = "evenkeel.io/request-object";
const RESPONSE_OBJECT_ANNOTATION = "evenkeel.io/response-object";

interface Received {
  readonly user: User | undefined;
  readonly request: ApiRequest;
  readonly access: AccessAttributes;
  readonly decision: AuditDecision;
}

export class RequestTrail implements AuditTrail {
  readonly id: string;
  readonly #receivedMs: number;
  readonly #annotations = new Map<string, string>();
  #decision: AuditDecision | undefined;
  #received: Omit<AuditEvent, ChangingField> | undefined;
  #objectRef: ObjectReference | undefined;
  #requestObject: string | undefined;
  #hasRequestObject = false;
  #responseObject: string | undefined;
  #responseStatus: ResponseStatus | undefined;
  #impersonated: { readonly user: User; readonly constraint: string } | undefined;

  constructor(id: string, receivedMs: number) {
    this.id = id;
    this.#receivedMs = receivedMs;
  }

  /** The audit level of the request; undefined until the policy has been evaluated. */
  get level(): AuditLevel | undefined {
    return this.#decision?.level;
  }

  get hasRequestObject(): boolean {
    return this.#hasRequestObject;
  }

  receive({ user, request, access: asked, decision }: Received): void {
    this.#decision = decision;
    if (decision.level === "None") return this.#annotations.clear();
    const { path, rawQuery, headers } = request;
    this.#objectRef = asked.isResourceRequest ? referenceOf(asked) : undefined;
    this.#received = {
      level: decision.level,
      auditID: utf8(this.id),
      requestURI: utf8(rawQuery === "" ? path : `${path}?${rawQuery}`),
      verb: asked.verb,
      user,
      sourceIPs: sourceIps(request),
      userAgent: userAgentOf(headers),
      requestReceivedMs: this.#receivedMs,
    };
  }

  annotate(key: string, value: string): void {
    if (this.level === "None" || this.#annotations.has(key) || this.#annotations.size >= ANNOTATIONS_MAX) return;
    this.#annotations.set(key, value.slice(0, ANNOTATION_CHARACTERS_MAX));
  }

  impersonated(user: User, constraint: string): void {
    if (this.level !== "None") this.#impersonated = { user, constraint };
  }

  requestObject(object: JsonObject, complete: (copy: JsonObject) => JsonObject): void {
    if (this.#decision === undefined || this.level === "None" || this.#hasRequestObject) return;
    this.#hasRequestObject = true;
    this.#referTo(object);
    if (!isAtLeast(this.#decision.level, "Request")) return;
    // The object is serialized now, because the handler may change it later.
    const read = textOf(completed(object, complete), this.#decision.omitManagedFields) ?? {
      kind: "omitted",
      why: "nested too deeply",
    };
    this.#requestObject = this.#kept(read, REQUEST_OBJECT_ANNOTATION);
  }

  // DIFFERS: kube-apiserver always records the decoded object, and loses the event of a YAML patch.
  /** Records the body as it was sent, unless the handler has provided the decoded object. */
  requestBytes(bytes: Buffer, { method, mediaType, read }: SentBody): void {
    const { level, omitManagedFields } = this.#decision!;
    const isPatch = method === "PATCH";
    const isWanted = isAtLeast(level, "Request");
    const namesObject = method === "POST" || method === "PUT";
    if (bytes.length === 0 || (!isWanted && !namesObject)) return;
    this.#hasRequestObject = true;
    // As kubernetes: managed fields are not removed from a patch.
    const sent = readAuditObject(bytes, { mediaType, read, omitManagedFields: omitManagedFields && !isPatch });
    if (sent.kind === "json" && namesObject && isJsonObject(sent.value)) this.#referTo(sent.value);
    if (isWanted) this.#requestObject = this.#kept(sent, REQUEST_OBJECT_ANNOTATION);
  }

  responded(status: ResponseStatus, object: ReadObject | undefined): void {
    this.#responseStatus = status;
    if (this.level !== "RequestResponse" || object === undefined) return;
    this.#responseObject = this.#kept(object, RESPONSE_OBJECT_ANNOTATION);
  }

  get omitManagedFields(): boolean {
    return this.#decision?.omitManagedFields ?? false;
  }

  /**
   * Creates the event of a stage; undefined if the policy omits the stage. By default, the time of the stage is the
   * arrival of the request.
   */
  eventAt(stage: AuditStage, stageMs = this.#receivedMs): AuditEvent | undefined {
    if (this.#received === undefined || this.#decision!.omitStages.has(stage)) return undefined;
    return {
      ...this.#received,
      stage,
      stageMs,
      impersonatedUser: this.#impersonated?.user,
      impersonationConstraint: this.#impersonated?.constraint ?? "",
      objectRef: this.#objectRef,
      responseStatus: this.#responseStatus,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      annotations: this.#annotations,
    };
  }

  #kept(object: ReadObject, annotation: string): string | undefined {
    if (object.kind === "json") return object.text;
    if (object.kind === "omitted") this.annotate(annotation, `omitted: ${object.why}`);
    return undefined;
  }

  /** As kubernetes audit/request.go#LogRequestObject: adds the fields of objectRef that the path does not contain. */
  #referTo(object: JsonObject): void {
    const reference = this.#objectRef;
    if (reference === undefined) return;
    const metadata = objectAt(object, "metadata");
    this.#objectRef = {
      ...reference,
      namespace: reference.namespace || stringAt(metadata, "namespace"),
      name: reference.name || stringAt(metadata, "name"),
      uid: stringAt(metadata, "uid"),
      resourceVersion: stringAt(metadata, "resourceVersion"),
    };
  }
}

type ChangingField =
  | "stage"
  | "stageMs"
  | "impersonatedUser"
  | "impersonationConstraint"
  | "objectRef"
  | "responseStatus"
  | "requestObject"
  | "responseObject"
  | "annotations";

interface SentBody {
  readonly method: string;
  readonly mediaType: string;
  readonly read: ReadBody | undefined;
}

function referenceOf(asked: AccessAttributes): ObjectReference {
  const { resource, name, group, version, subresource } = asked;
  return {
    resource,
    namespace: auditedNamespace(asked),
    name,
    uid: "",
    apiGroup: group,
    apiVersion: version,
    resourceVersion: "",
    subresource,
  };
}

function userAgentOf(headers: ApiRequest["headers"]): string {
  const said = headerValue(headers, "user-agent") ?? "";
  return utf8(said.length > USER_AGENT_BYTES_MAX ? said.slice(0, USER_AGENT_BYTES_MAX) + TRUNCATED_SUFFIX : said);
}

/** Decodes a header value, in which each character stands for one byte. Nearly all are ASCII. */
function utf8(bytes: string): string {
  // oxlint-disable-next-line no-control-regex -- any byte may be there
  return /^[\x00-\x7f]*$/.test(bytes) ? bytes : Buffer.from(bytes, "latin1").toString("utf8");
}

/**
 * Returns the completed copy, or the object itself if it is nested too deeply to be copied. Such an object cannot be
 * serialized either.
 */
function completed(object: JsonObject, complete: (copy: JsonObject) => JsonObject): JsonObject {
  try {
    return complete(structuredClone(object));
  } catch {
    return object;
  }
}
