/** What an audit event is told by those who handle its request, and by which ID the request is known. */
import type { ForwardedUser } from "./forwarded.ts";
import type { JsonObject } from "../../meta/json.ts";

export interface AuditTrail {
  /** The same on every server that the request passes through. */
  readonly id: string;
  /** What was said first under a key stays. */
  annotate(key: string, value: string): void;
  /** Somebody acts as somebody else; the constraint is empty where it is not limited. */
  impersonated(user: ForwardedUser, constraint: string): void;
  /**
   * The body, read, in the version it was sent in. `complete` puts in what it leaves out, where that is recorded. Without a
   * call the event has the body as it was sent.
   */
  requestObject(object: JsonObject, complete: (copy: JsonObject) => JsonObject): void;
}

/** On the server that handed a request on: who answered it. */
export const SERVED_BY_ANNOTATION = "evenkeel.io/served-by";
/** On the server that answered it: who handed it on. */
export const PROXIED_BY_ANNOTATION = "evenkeel.io/proxied-by";
