/** The context in which the checks of a pod spec run. */
import type { JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";

export interface SpecContext extends KindContext {
  /** False for a template. Checks of values that only pods have are skipped for templates. */
  readonly isPod: boolean;
  /** Metadata of the pod; absent for a template. */
  readonly metadata?: JsonObject;
  /** The stored spec on an update, whose values remain valid. */
  readonly before?: JsonObject;
}
