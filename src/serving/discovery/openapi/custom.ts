/** The port through which OpenAPI reads the custom resources, which CRDs add to the catalog at run time. */
import type { JsonObject } from "../../../meta/json.ts";
import type { Dialect } from "./schemas.ts";

/** Called for every document request, so everything except `hash` and the schemas must be cheap. */
export interface CustomOpenApi {
  /** Changes whenever a custom resource or its schema changes. */
  generation(): number;
  /** The group versions in any order, each with at least one resource. */
  groupVersions(): readonly CustomGroupVersion[];
}

export interface CustomGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly CustomResource[];
  /**
   * A hash of everything that the documents contain about these resources. It is equal on all servers that have the
   * same CRDs.
   */
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
  /** The published schema, with references to the models of the release. */
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
