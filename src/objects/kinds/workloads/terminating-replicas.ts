/** status.terminatingReplicas, which clients may write since 1.35. */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";

const WRITTEN_SINCE_MINOR = 35;

export function dropTerminatingReplicas(object: JsonObject, existing: JsonObject, { minor }: KindContext): void {
  if (minor >= WRITTEN_SINCE_MINOR || objectAt(existing, "status")["terminatingReplicas"] !== undefined) return;
  delete objectAt(object, "status")["terminatingReplicas"];
}
