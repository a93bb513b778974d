/**
 * Adds defaults to an object right after decoding, so that the field manager of the write owns the defaulted fields.
 */
import type { KindContext } from "../../objects/kinds/kind.ts";
import type { JsonObject } from "../../meta/json.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { ServedResource } from "./resource.ts";

export function kindContext(context: RegistryContext, { gates }: ServedResource): KindContext {
  return new RequestKindContext(context, gates);
}

/** A class, because V8 creates a hidden class for each object literal with a getter. */
class RequestKindContext implements KindContext {
  readonly gates: KindContext["gates"];
  readonly ipFamilies: KindContext["ipFamilies"];
  readonly forbidsPrivileged: boolean;
  readonly #clock: RegistryContext["clock"];

  constructor({ ipFamilies, forbidsPrivileged, clock }: RegistryContext, gates: KindContext["gates"]) {
    this.gates = gates;
    this.ipFamilies = ipFamilies ?? ["IPv4"];
    this.forbidsPrivileged = forbidsPrivileged ?? false;
    this.#clock = clock;
  }

  /** Few kinds use the time, and formatting it is expensive. */
  get time(): string {
    return timestamp(this.#clock);
  }
}

/** Changes and returns the object. */
export function withDefaults(context: RegistryContext, served: ServedResource, object: JsonObject): JsonObject {
  served.meaning.setDefaults?.(object, kindContext(context, served));
  return object;
}
