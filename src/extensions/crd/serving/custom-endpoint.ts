/** Creates the endpoint of one CRD version. Its schema is compiled when it is first needed. */
import { must } from "../../../base/assert.ts";
import { ALL_VERBS as CATALOG_VERBS, type Catalog } from "../../../objects/catalog/catalog.ts";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import { toCatalogResource } from "./catalog-resource.ts";
import { customServed, type CustomServedParts } from "./custom-served.ts";
import type { Crd, CrdVersion } from "../crd.ts";
import { deprecationWarning } from "./deprecation-warning.ts";
import type { ResourceEndpoint } from "../../../serving/endpoints/endpoint.ts";
import { pathSegmentErrors } from "../../../meta/names.ts";
import { goZeros } from "../../../objects/go/go-zeros.ts";
import type { ServedResource } from "../../../serving/registry/resource.ts";
import { objectMetadataErrors } from "../../../serving/registry/metadata-validation.ts";
import { compileCustomSchema, type CustomSchema, type CustomSchemaParts } from "../structural-schema/custom-schema.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";

export interface CustomEndpointParts extends Pick<
  CustomServedParts,
  "storageRoot" | "encoding" | "convert" | "rejectCreation"
> {
  readonly catalog: Pick<Catalog, "schemas" | "release">;
  /** Compiled schemas of this CRD, by version. */
  readonly schemas: Map<string, CustomSchema>;
}

const ALL_VERBS: ReadonlySet<string> = new Set(CATALOG_VERBS);
const OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

export function customEndpoint(crd: Crd, version: CrdVersion, parts: CustomEndpointParts): ResourceEndpoint {
  const { group, acceptedNames, namespaced } = crd;
  const shown = must(
    toCatalogResource(crd)?.versions.find((candidate) => candidate.version === version.name),
    "a version that is served is in discovery",
  );
  return {
    group,
    version: version.name,
    resource: acceptedNames.plural,
    kind: acceptedNames.kind,
    namespaced,
    // Includes the verbs that discovery omits for a terminating CRD. The endpoint rejects them with the reason.
    verbs: ALL_VERBS,
    subresources: new Map(shown.subresources.map(({ name, verbs }) => [name, new Set(verbs)])),
    deprecation: deprecationWarning(crd, version),
    served: servedVersion(crd, version, parts),
  };
}

export function servedVersion(definition: Crd, version: CrdVersion, parts: CustomEndpointParts): ServedResource {
  const { catalog, schemas } = parts;
  return customServed(definition, version, {
    ...parts,
    gates: gatesOf(catalog.release.name),
    builtInSchema: (asked, kind) => catalog.schemas.kind(asked.group, asked.version, kind),
    schemaOf(asked) {
      const found = definition.versions.find((candidate) => candidate.name === asked);
      if (found === undefined) return undefined;
      const schema = schemas.get(asked) ?? compileCustomSchema(found.schema(), schemaParts(definition, asked, catalog));
      schemas.set(asked, schema);
      return schema;
    },
  });
}

function schemaParts(
  { group, acceptedNames, preserveUnknownFields }: Crd,
  version: string,
  catalog: CustomEndpointParts["catalog"],
): CustomSchemaParts {
  return {
    name: [...group.split(".").toReversed(), version, acceptedNames.kind].join("."),
    metadata: {
      struct: must(catalog.schemas.struct(OBJECT_META), "every release has object metadata"),
      zeros: goZeros(protobufTables),
    },
    metadataErrors: (metadata) =>
      objectMetadataErrors(metadata, {
        nameRule: pathSegmentErrors,
        takesAnyFinalizer: true,
        namespaced: metadata["namespace"] !== undefined && metadata["namespace"] !== "",
      }),
    gates: gatesOf(catalog.release.name),
    preservesUnknown: preserveUnknownFields,
  };
}
