/** Fills in the defaults of an object right after decoding, so that the writer owns them. */
import type { KindContext } from "../../objects/kinds/kind.ts";
import type { JsonObject } from "../../meta/json.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { ServedResource } from "./resource.ts";

export function kindContext(context: RegistryContext, { gates }: ServedResource): KindContext {
  return { gates, time: timestamp(context.clock) };
}

/** Works in place. */
export function withDefaults(context: RegistryContext, served: ServedResource, object: JsonObject): JsonObject {
  served.meaning.setDefaults?.(object, kindContext(context, served));
  return object;
}
