/** The part of an audit event that the handlers of a request fill in, and the audit ID of the request. */
import type { ForwardedUser } from "./forwarded.ts";
import type { JsonObject } from "../../meta/json.ts";

export interface AuditTrail {
  /** The same on every server that the request passes through. */
  readonly id: string;
  /** The first value of a key is kept. */
  annotate(key: string, value: string): void;
  /** Records an impersonated user. The constraint is empty if the impersonation is not limited. */
  impersonated(user: ForwardedUser, constraint: string): void;
  /**
   * Records the decoded body in the version in which it was sent. `complete` adds defaults where the audit level
   * records them. If this is not called, the event contains the body as sent.
   */
  requestObject(object: JsonObject, complete: (copy: JsonObject) => JsonObject): void;
}

/** Set by the server that proxied a request: the server that served it. */
export const SERVED_BY_ANNOTATION = "evenkeel.io/served-by";
/** Set by the server that served a proxied request: the server that proxied it. */
export const PROXIED_BY_ANNOTATION = "evenkeel.io/proxied-by";
