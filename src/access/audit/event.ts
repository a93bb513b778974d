/** An audit event and its serialization as a line of JSON or legacy text. Pure. */
import type { User } from "../auth/user.ts";
import { goQuote } from "../../meta/go-quote.ts";
import type { Status } from "../../meta/status-error.ts";
import { escapeJsonForHtml } from "../../meta/go-json.ts";
import type { AuditLevel, AuditStage } from "./policy.ts";

export interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion: string;
  readonly subresource: string;
}

export type ResponseStatus = Partial<Pick<Status, "status" | "message" | "reason" | "details">> & {
  readonly code?: number;
};

export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditID: string;
  readonly stage: AuditStage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: User | undefined;
  readonly impersonatedUser: User | undefined;
  /** The verb that allowed a constrained impersonation (since 1.36); empty otherwise. */
  readonly impersonationConstraint: string;
  readonly sourceIPs: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: ResponseStatus | undefined;
  /** One line of JSON. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  /** Milliseconds since the epoch, with a fraction. */
  readonly requestReceivedMs: number;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string>;
}

export type LogFormat = "json" | "legacy";

/** The line ends with a line feed. */
export function jsonLine(event: AuditEvent): string {
  const { level, auditID, stage, requestURI, verb, sourceIPs, userAgent, requestObject, responseObject } = event;
  const head = JSON.stringify({
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID,
    stage,
    requestURI,
    verb,
    user: userInfo(event.user),
    impersonatedUser: event.impersonatedUser && userInfo(event.impersonatedUser),
    authenticationMetadata: impersonation(event),
    sourceIPs: sourceIPs.length === 0 ? undefined : sourceIPs,
    userAgent: userAgent === "" ? undefined : userAgent,
    objectRef: event.objectRef && referenceInfo(event.objectRef),
    responseStatus: event.responseStatus && { metadata: {}, ...event.responseStatus },
  });
  const tail = JSON.stringify({
    requestReceivedTimestamp: microTime(event.requestReceivedMs),
    stageTimestamp: microTime(event.stageMs),
    annotations: event.annotations.size === 0 ? undefined : sorted(event.annotations),
  });
  const request = requestObject === undefined ? "" : `,"requestObject":${requestObject}`;
  const response = responseObject === undefined ? "" : `,"responseObject":${responseObject}`;
  return `${escapeJsonForHtml(`${head.slice(0, -1)}${request}${response},${tail.slice(1)}`)}\n`;
}

/** As kubernetes audit/format.go#EventString. The line ends with a line feed. */
export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser: as, objectRef, responseStatus, sourceIPs } = event;
  const hasName = user !== undefined && user.name !== "";
  const parts = [
    ["id", event.auditID],
    ["stage", event.stage],
    ["ip", sourceIPs[0] ?? "<unknown>"],
    ["method", event.verb],
    ["user", hasName ? user.name : "<none>"],
    ["groups", hasName && user.groups.length > 0 ? quotedList(user.groups) : "<none>"],
    ["as", as === undefined ? "<self>" : as.name],
    ["asgroups", as === undefined ? "<lookup>" : quotedList(as.groups)],
    ["user-agent", event.userAgent],
    ["namespace", objectRef === undefined || objectRef.namespace === "" ? "<none>" : objectRef.namespace],
    ["uri", event.requestURI],
  ] as const;
  const said = parts.map(([name, value]) => `${name}=${goQuote(value)}`).join(" ");
  const response = responseStatus === undefined ? "<deferred>" : String(responseStatus.code ?? 0);
  return `${nanoTime(event.requestReceivedMs)} AUDIT: ${said} response="${response}"\n`;
}

function quotedList(items: readonly string[]): string {
  return items.map(goQuote).join(",");
}

function userInfo(user: User | undefined): object {
  if (user === undefined) return {};
  const { name, uid, groups, extra } = user;
  return {
    username: given(name),
    uid: given(uid),
    groups: groups.length === 0 ? undefined : groups,
    extra: Object.keys(extra).length === 0 ? undefined : sorted(new Map(Object.entries(extra))),
  };
}

function impersonation({ impersonationConstraint }: AuditEvent): object | undefined {
  return impersonationConstraint === "" ? undefined : { impersonationConstraint };
}

function referenceInfo(reference: ObjectReference): object {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = reference;
  return {
    resource: given(resource),
    namespace: given(namespace),
    name: given(name),
    uid: given(uid),
    apiGroup: given(apiGroup),
    apiVersion: given(apiVersion),
    resourceVersion: given(resourceVersion),
    subresource: given(subresource),
  };
}

function given(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** Uses `fromEntries`, which defines properties instead of assigning them, because a key may be `__proto__`. */
function sorted<Value>(entries: ReadonlyMap<string, Value>): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([left], [right]) => (left < right ? -1 : 1)));
}

/** RFC 3339 with six fractional digits. */
export function microTime(epochMs: number): string {
  const micros = Math.floor(epochMs * 1000);
  const ms = Math.floor(micros / 1000);
  const rest = micros - ms * 1000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}

/** As Go's RFC3339Nano: trailing zeros of the fraction are removed. */
function nanoTime(epochMs: number): string {
  return microTime(epochMs).replace(/\.?0+Z$/, "Z");
}
