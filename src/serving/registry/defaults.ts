/**
 * Adds defaults to an object right after decoding, so that the field manager of the write owns the defaulted fields.
 */
import type { KindContext } from "../../objects/kinds/kind.ts";
import type { JsonObject } from "../../meta/json.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { ServedResource } from "./resource.ts";

export function kindContext(context: RegistryContext, { gates }: ServedResource): KindContext {
  return {
    gates,
    ipFamilies: context.ipFamilies ?? ["IPv4"],
    // Few kinds use the time, and formatting it is expensive.
    get time() {
      return timestamp(context.clock);
    },
  };
}

/** Changes and returns the object. */
export function withDefaults(context: RegistryContext, served: ServedResource, object: JsonObject): JsonObject {
  served.meaning.setDefaults?.(object, kindContext(context, served));
  return object;
}
