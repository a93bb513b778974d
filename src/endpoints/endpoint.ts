/** One resource of one served version, as the route table finds it. */
import type { ServedResource } from "../registry/resource.ts";

export interface ResourceEndpoint {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: ReadonlySet<string>;
  /** By name: the verbs each allows. */
  readonly subresources: ReadonlyMap<string, ReadonlySet<string>>;
  /** What users of an API on its way out are warned with on every request. */
  readonly deprecation: string | undefined;
  /** Undefined for what is answered, not stored: reviews, bindings. */
  readonly served: ServedResource | undefined;
}
