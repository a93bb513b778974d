/** The resources that OpenAPI shows in addition to the catalog, because CRDs define them at run time. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Dialect } from "./schemas.ts";

/** Called for every document request; everything except `hash` and the schemas must be cheap. */
export interface CustomOpenApi {
  /** Changes whenever anything else here changes. */
  generation(): number;
  /** In any order, each with one resource at least. */
  groupVersions(): readonly CustomGroupVersion[];
}

export interface CustomGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly CustomResource[];
  /** A hash of everything that the documents contain about them: equal on all servers that have the same CRDs. */
  hash(): string;
}

export interface CustomResource {
  readonly group: string;
  readonly version: string;
  /** The plural name. */
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
