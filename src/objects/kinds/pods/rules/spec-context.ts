/** Context in which the checks of a pod spec run. */
import type { JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";

export interface SpecContext extends KindContext {
  /** False for a template, for which checks of values that pods get later are skipped. */
  readonly isPod: boolean;
  /** Metadata of the pod; absent for a template. */
  readonly metadata?: JsonObject;
  /** The stored spec on an update; its values remain valid. */
  readonly before?: JsonObject;
}
