/** The OpenAPI documents of CRDs. A document is built when a client first requests it. */
import { parseGroupVersion } from "../../../meta/group-version.ts";
import {
  customModelName,
  type CustomGroupVersion,
  type CustomOpenApi,
  type CustomResource,
} from "../../../serving/discovery/openapi/custom.ts";
import type { Crd, CrdVersion } from "../crd.ts";
import { publishedListSchema, publishedSchema } from "./schema.ts";

interface Definitions {
  /** Increases with every change of a CRD. */
  readonly generation: number;
  definitions(): readonly Crd[];
}

export function createCustomOpenApi(table: Definitions): CustomOpenApi {
  return { generation: () => table.generation, groupVersions: () => groupVersionsOf(table.definitions()) };
}

interface Shown {
  readonly definition: Crd;
  readonly version: CrdVersion;
}

function groupVersionsOf(crds: readonly Crd[]): CustomGroupVersion[] {
  const shown: Shown[] = crds
    .filter(({ isEstablished }) => isEstablished)
    .flatMap((definition) =>
      definition.versions.filter(({ isServed }) => isServed).map((version) => ({ definition, version })),
    );
  const byGroupVersion = Map.groupBy(shown, ({ definition, version }) => `${definition.group}/${version.name}`);
  return [...byGroupVersion].map(([groupVersion, members]) => ({
    ...parseGroupVersion(groupVersion),
    resources: members.map(toResource),
    hash: () =>
      members
        .map(({ definition: { uid, generation } }) => `${uid}/${generation}`)
        .sort()
        .join(),
  }));
}

function toResource({ definition, version }: Shown): CustomResource {
  const { group, names, namespaced, preserveUnknownFields } = definition;
  const { kind, listKind, plural: resource } = names;
  const own = { group, version: version.name };
  const model = customModelName(own, kind);
  return {
    ...own,
    resource,
    kind,
    listKind,
    namespaced,
    hasStatus: version.hasStatus,
    hasScale: version.scale !== undefined,
    schema: (dialect) => ({
      ...publishedSchema(version.schema(), dialect, preserveUnknownFields),
      ...extensions({ ...own, kind }, version),
    }),
    listSchema: (dialect) => ({
      ...publishedListSchema({ kind, listKind, resource, model }, dialect),
      ...extensions({ ...own, kind: listKind }, version),
    }),
  };
}

function extensions(kind: Readonly<Record<"group" | "version" | "kind", string>>, version: CrdVersion): object {
  const fields = version.selectableFields.map((path) => ({ fieldPath: path.replace(/^\./, "") }));
  return {
    "x-kubernetes-group-version-kind": [kind],
    ...(fields.length === 0 ? {} : { "x-kubernetes-selectable-fields": fields }),
  };
}
