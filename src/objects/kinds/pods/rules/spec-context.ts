/** What the rules of a pod's spec know about where it stands. */
import type { JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";

export interface SpecContext extends KindContext {
  /** A template's pods do not exist yet: what can still be decided then is not asked for. */
  readonly isPod: boolean;
  /** The pod's own; absent for a template. */
  readonly metadata?: JsonObject;
  /** The spec that is updated: what it has already stays allowed. */
  readonly before?: JsonObject;
}
