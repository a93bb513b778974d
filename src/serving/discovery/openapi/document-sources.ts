/** Lists the OpenAPI documents of the built-in resources of a server, and the operations of each. */
import type { GroupVersion } from "../../../meta/group-version.ts";
import type { Catalog, CatalogGroup } from "../../../objects/catalog/catalog.ts";
import { apiResourceList } from "../document.ts";
import { compareNames } from "../order.ts";
import { formatGroupVersionPath } from "./decode-peer-response.ts";
import {
  coreOperation,
  groupOperation,
  groupsOperation,
  openIdConfigurationOperation,
  openIdKeysOperation,
  resourceListOperation,
  versionOperation,
} from "./discovery-operations.ts";
import type { OpenApiOperation } from "./operation.ts";
import { operationsOf } from "./operations.ts";

export interface DocumentSource {
  /** The inputs of the operations besides the release. */
  readonly content: unknown;
  /** Undefined for a path that is not that of a group version. */
  readonly groupVersion: GroupVersion | undefined;
  operations(): readonly OpenApiOperation[];
}

/**
 * Keyed by the path of the OpenAPI 3 document: first the documents of discovery and other paths, then those of group
 * versions. The OpenAPI 2 document has the operations of all of them.
 */
export function documentSources(catalog: Catalog): ReadonlyMap<string, DocumentSource> {
  const groupVersions = catalog.groups.flatMap((group) =>
    group.versions.map(
      (version) =>
        [formatGroupVersionPath({ group: group.name, version }), groupVersionSource(catalog, group, version)] as const,
    ),
  );
  // A server for a program's own resources has no built-in resources.
  if (groupVersions.length === 0) return new Map();
  const others = otherOperations(catalog).sort(([left], [right]) => compareNames(left, right));
  return new Map([
    ...others.map(([path, operation]) => [path, otherSource(path, operation)] as const),
    ...groupVersions,
  ]);
}

/**
 * The operations that are not about resources, each with the path of its document. They are functions, so that the
 * schemas are decoded when a client requests a document, and not when the server starts.
 */
function otherOperations(catalog: Catalog): (readonly [path: string, operation: () => OpenApiOperation])[] {
  const ofGroups = catalog.groups.map(({ name }): readonly [string, () => OpenApiOperation] =>
    name === "" ? ["api", () => coreOperation(catalog)] : [`apis/${name}`, () => groupOperation(catalog, name)],
  );
  const others: (readonly [string, () => OpenApiOperation])[] = [
    ["apis", () => groupsOperation(catalog)],
    ["version", () => versionOperation(catalog)],
    ...ofGroups,
  ];
  // OpenID serves the keys of the tokens of service accounts.
  if (catalog.resource("", "serviceaccounts") === undefined) return others;
  return [
    ...others,
    [".well-known/openid-configuration", openIdConfigurationOperation],
    ["openid/v1/jwks", openIdKeysOperation],
  ];
}

function otherSource(path: string, operation: () => OpenApiOperation): DocumentSource {
  return { content: path, groupVersion: undefined, operations: () => [operation()] };
}

function groupVersionSource(catalog: Catalog, group: CatalogGroup, version: string): DocumentSource {
  return {
    groupVersion: { group: group.name, version },
    get content() {
      return apiResourceList(group, version);
    },
    operations: () => [resourceListOperation(catalog, group.name, version), ...operationsOf(catalog, group, version)],
  };
}
