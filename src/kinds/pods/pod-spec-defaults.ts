/** What a pod's spec is taken to say when it says nothing. */
import type { JsonObject } from "../../meta/json.ts";
import type { KindContext } from "../kind.ts";

/** In place. */
export function setPodSpecDefaults(_spec: JsonObject, _context: KindContext): void {}
