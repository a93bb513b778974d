/**
 * The resources to which the fuzzer sends requests: every served version of every resource of a release. Important
 * resources have a higher weight.
 */
import type { Catalog, CatalogResource, CatalogVersion } from "../../src/objects/catalog/catalog.ts";
import { formatGroupVersion } from "../../src/meta/group-version.ts";
import type { StructSchema } from "../../src/objects/schema.ts";
import type { Dice, Weighted } from "./dice.ts";

export interface Target {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Group and resource, as "group/resource". */
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** True if objects are stored. If false, a POST only returns a result, as for access reviews. */
  readonly isStored: boolean;
  readonly schema: StructSchema;
  readonly verbs: readonly string[];
  readonly subresources: CatalogVersion["subresources"];
  readonly fieldSelectors: readonly string[];
  /** Paths of the same resource in other versions; for events also the path in the other API group. */
  readonly otherPaths: readonly string[];
  readonly weight: number;
}

const WEIGHTS: Readonly<Record<string, number>> = {
  "/pods": 30,
  "apps/deployments": 20,
  "/services": 20,
  "batch/jobs": 15,
  "batch/cronjobs": 8,
  "autoscaling/horizontalpodautoscalers": 15,
  "networking.k8s.io/ingresses": 15,
  "/persistentvolumeclaims": 15,
  "apps/statefulsets": 8,
  "apps/daemonsets": 5,
  "apps/replicasets": 5,
  "/configmaps": 6,
  "/secrets": 6,
  "/namespaces": 3,
  "/nodes": 4,
  "/events": 3,
  "events.k8s.io/events": 3,
  "policy/poddisruptionbudgets": 4,
  "discovery.k8s.io/endpointslices": 3,
  "apiextensions.k8s.io/customresourcedefinitions": 3,
};

export class Targets {
  readonly all: readonly Target[];
  readonly #any: Weighted<Target>;
  readonly #stored: Weighted<Target>;
  readonly #withSubresources: Weighted<Target>;

  constructor(catalog: Catalog) {
    this.all = catalog.groups.flatMap(({ resources }) =>
      resources.flatMap((resource) => resource.versions.flatMap((version) => toTarget(catalog, resource, version))),
    );
    this.#any = this.all.map((target) => [target.weight, target]);
    this.#stored = this.#any.filter(([, { isStored }]) => isStored);
    this.#withSubresources = this.#stored.filter(([, { subresources }]) => subresources.length > 0);
  }

  any(dice: Dice): Target {
    return dice.weighted(this.#any);
  }

  stored(dice: Dice): Target {
    return dice.weighted(this.#stored);
  }

  withSubresources(dice: Dice): Target {
    return dice.weighted(this.#withSubresources);
  }
}

function toTarget(catalog: Catalog, of: CatalogResource, served: CatalogVersion): Target[] {
  const { group, resource, namespaced: isNamespaced } = of;
  const { version, kind, verbs, subresources, fieldSelectors } = served;
  const schema = catalog.schemas.kind(group, version, kind);
  if (schema === undefined) return [];
  const key = `${group}/${resource}`;
  const others = of.versions.filter((other) => other !== served).map((other) => ({ group, version: other.version }));
  const twin = resource === "events" ? [{ group: group === "" ? "events.k8s.io" : "", version: "v1" }] : [];
  return [
    {
      ...{ group, version, resource, key, kind, isNamespaced, schema, verbs, subresources, fieldSelectors },
      apiVersion: formatGroupVersion({ group, version }),
      isStored: verbs.includes("create") && verbs.includes("get"),
      otherPaths: [...others, ...twin].map((other) => collectionPath({ ...other, resource, isNamespaced })),
      weight: (Object.hasOwn(WEIGHTS, key) ? WEIGHTS[key]! : 1.5) / of.versions.length,
    },
  ];
}

type Placed = Pick<Target, "group" | "version" | "resource" | "isNamespaced">;

export function collectionPath({ group, version, resource, isNamespaced }: Placed): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return isNamespaced ? `${root}/namespaces/default/${resource}` : `${root}/${resource}`;
}
