/** The interface through which the handlers of a request add to its audit event, and the audit ID of the request. */
import type { ForwardedUser } from "./forwarded.ts";
import type { JsonObject } from "../../meta/json.ts";

export interface AuditTrail {
  /** The audit ID. It is the same on every server through which the request passes. */
  readonly id: string;
  /** Adds an annotation. If a key is set twice, the first value is kept. */
  annotate(key: string, value: string): void;
  /** Records an impersonated user. `constraint` is empty if the impersonation is not limited. */
  impersonated(user: ForwardedUser, constraint: string): void;
  /**
   * Records the decoded body in the version in which the client sent it. `complete` adds defaults if the audit level
   * requires them. If this is not called, the audit event contains the body as sent.
   */
  requestObject(object: JsonObject, complete: (copy: JsonObject) => JsonObject): void;
}

/** The audit annotation of the server that proxied a request: it names the server that served the request. */
export const SERVED_BY_ANNOTATION = "evenkeel.io/served-by";
/** The audit annotation of the server that served a proxied request: it names the server that proxied the request. */
export const PROXIED_BY_ANNOTATION = "evenkeel.io/proxied-by";
