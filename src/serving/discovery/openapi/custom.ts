/** Resources that are not in the catalogue but defined at run time, as far as OpenAPI shows them. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Dialect } from "./schemas.ts";

/** Asked whenever a document is; nothing of it may be costly besides `hash` and the schemas. */
export interface CustomOpenApi {
  /** Another number whenever anything else here has changed. */
  generation(): number;
  /** In any order, each with one resource at least. */
  groupVersions(): readonly CustomGroupVersion[];
}

export interface CustomGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly CustomResource[];
  /** Of all that the documents say about them: equal on all servers that have the same definitions. */
  hash(): string;
}

export interface CustomResource {
  readonly group: string;
  readonly version: string;
  /** In plural. */
  readonly resource: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly hasStatus: boolean;
  readonly hasScale: boolean;
  /** As published, with references to the models of the release. */
  schema(dialect: Dialect): JsonObject;
  listSchema(dialect: Dialect): JsonObject;
}

export const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
export const LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

export function customModelName({ group, version }: Pick<CustomResource, "group" | "version">, kind: string): string {
  return [...group.split(".").toReversed(), version, kind].join(".");
}

export function modelPointer(dialect: Dialect, name: string): string {
  return dialect === "v2" ? `#/definitions/${name}` : `#/components/schemas/${name}`;
}
