/** Lists every kind that a release can send or receive in protobuf, including alpha versions and list kinds. */
import { openCatalog } from "../../../../src/objects/catalog/catalog.ts";
import type { ReleaseName } from "../../../../src/objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../../../src/objects/catalog/runtime-config.ts";
import { formatGroupVersion, type GroupVersion } from "../../../../src/meta/group-version.ts";
import type { StructSchema } from "../../../../src/objects/schema.ts";

export interface TestedKind extends GroupVersion {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: StructSchema;
  /** API version and kind, such as `apps/v1 Deployment`. */
  readonly name: string;
}

const NOT_STORED: readonly (GroupVersion & { readonly kind: string })[] = [
  { group: "apps", version: "v1", kind: "DeleteOptions" },
  { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
  { group: "autoscaling", version: "v1", kind: "Scale" },
  { group: "policy", version: "v1", kind: "Eviction" },
  { group: "", version: "v1", kind: "Binding" },
  { group: "", version: "v1", kind: "Status" },
];

export function kindsOf(release: ReleaseName): readonly TestedKind[] {
  const catalog = openCatalog({
    release,
    runtimeConfig: parseRuntimeConfig("api/all=true"),
    featureGates: new Map([
      ["AllAlpha", true],
      ["AllBeta", true],
    ]),
  });
  const served = catalog.groups.flatMap(({ resources }) =>
    resources.flatMap(({ group, versions }) =>
      versions.flatMap(({ version, kind }) => [
        { group, version, kind },
        { group, version, kind: `${kind}List` },
      ]),
    ),
  );
  return [...served, ...NOT_STORED].flatMap(({ group, version, kind }) => {
    const schema = catalog.schemas.kind(group, version, kind);
    const apiVersion = formatGroupVersion({ group, version });
    return schema === undefined ? [] : [{ group, version, kind, apiVersion, schema, name: `${apiVersion} ${kind}` }];
  });
}
