/** The custom resources that the CRDs among the manifests define, to find objects in versions that are not served. */
import { objectAt, objectsAt, specOf, stringAt } from "../../../meta/json.ts";
import type { Manifest } from "./read-manifests.ts";

interface CustomVersion {
  readonly isServed: boolean;
  /** The warning of the API server; undefined if the version is not deprecated. */
  readonly deprecation: string | undefined;
}

export interface CustomKind {
  readonly group: string;
  readonly kind: string;
  readonly versions: ReadonlyMap<string, CustomVersion>;
}

const CRD_VERSIONS_MAX = 100;
const DEPRECATION_LENGTH_MAX = 300;

export class CustomKinds {
  readonly #kinds = new Map<string, Map<string, CustomVersion>>();

  /** Adds the versions of each CRD. If several CRDs define a kind, a version counts as served if one of them serves it. */
  constructor(manifests: readonly Manifest[]) {
    for (const { apiVersion, kind, object } of manifests) {
      if (kind !== "CustomResourceDefinition" || !apiVersion.startsWith("apiextensions.k8s.io/")) continue;
      const spec = specOf(object);
      const key = `${stringAt(spec, "group")} ${stringAt(objectAt(spec, "names"), "kind")}`;
      const versions = this.#kinds.get(key) ?? new Map<string, CustomVersion>();
      for (const [name, version] of versionsOf(spec)) {
        if (versions.get(name)?.isServed !== true) versions.set(name, version);
      }
      this.#kinds.set(key, versions);
    }
  }

  find(group: string, kind: string): CustomKind | undefined {
    const versions = this.#kinds.get(`${group} ${kind}`);
    return versions === undefined ? undefined : { group, kind, versions };
  }
}

/** CRDs of v1beta1 may have the field `version` instead of the list. */
function versionsOf(spec: ReturnType<typeof specOf>): [name: string, version: CustomVersion][] {
  const listed = objectsAt(spec, "versions").slice(0, CRD_VERSIONS_MAX);
  if (listed.length === 0) return [[stringAt(spec, "version"), { isServed: true, deprecation: undefined }]];
  return listed.map((version) => {
    const warning = stringAt(version, "deprecationWarning").slice(0, DEPRECATION_LENGTH_MAX);
    const deprecation = version["deprecated"] === true ? warning : undefined;
    return [stringAt(version, "name"), { isServed: version["served"] === true, deprecation }];
  });
}
