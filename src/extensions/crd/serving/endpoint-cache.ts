/**
 * Caches the compiled endpoints of each CRD until the CRD changes, because compiling a schema for each request would be
 * too expensive.
 */
import { must } from "../../../base/assert.ts";
import type { Clock } from "../../../base/clock.ts";
import { storageVersionName } from "../../../cluster/storageversion/objects.ts";
import { forbidden, unknownResource } from "../../../meta/status-error.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { ResourceEndpoint } from "../../../serving/endpoints/endpoint.ts";
import {
  fixedEncoding,
  type CustomShape,
  type Encoding,
  type ServedResource,
} from "../../../serving/registry/resource.ts";
import type { ResourceTable } from "../../../serving/resources/built-in-table.ts";
import type { Guard } from "../../../storage/kv.ts";
import type { WatchCache } from "../../../storage/watch-cache/cache.ts";
import type { CrdTable } from "../crd-table.ts";
import type { Crd } from "../crd.ts";
import type { CustomSchema } from "../structural-schema/custom-schema.ts";
import { customEndpoint, servedVersion, type CustomEndpointParts } from "./custom-endpoint.ts";

export interface CustomResourceParts {
  readonly storageRoot: string;
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly catalog: Catalog;
  readonly builtIn: ResourceTable;
  /** The encoding in which a resource is written. If undefined, it is written in the storage version of the CRD. */
  readonly encodingOf: ((name: string) => Encoding) | undefined;
  /** Converts objects with the webhook of a CRD. */
  readonly convert: (definition: Crd) => NonNullable<CustomShape["convert"]>;
}

/** The compiled parts of a CRD, valid as long as the CRD is unchanged. */
interface Made {
  readonly definition: Crd;
  /** Compiled schemas by version; kept if only the status of the CRD changes. */
  readonly schemas: Map<string, CustomSchema>;
  readonly endpoints: Map<string, ResourceEndpoint>;
}

/** Holds the endpoints of the served versions, and each resource in its storage version. */
export class EndpointCache {
  readonly #parts: CustomResourceParts;
  readonly #table: CrdTable;
  readonly #made = new Map<string, Made>();

  constructor(parts: CustomResourceParts, table: CrdTable) {
    this.#parts = parts;
    this.#table = table;
    table.onChange(({ before, after }) => {
      if (after === undefined && before !== undefined) this.#made.delete(before.name);
    });
  }

  find(group: string, version: string, resource: string): ResourceEndpoint | undefined {
    const known = this.#table.find(group, resource);
    if (known === undefined || !isServing(known.definition)) return undefined;
    const { definition } = known;
    const found = definition.versions.find(({ name, isServed }) => name === version && isServed);
    if (found === undefined) return undefined;
    const made = this.#madeOf(definition);
    const endpoint =
      made.endpoints.get(version) ?? customEndpoint(definition, found, this.#partsOf(definition, made.schemas));
    made.endpoints.set(version, endpoint);
    return endpoint;
  }

  /** The resource in its storage version, even if the CRD serves no version. */
  stored(definition: Crd): ServedResource {
    const stored = definition.versions.find(({ isStorage }) => isStorage);
    const version = must(stored, "one version of a CRD is the storage version");
    return servedVersion(definition, version, this.#partsOf(definition, new Map()));
  }

  #madeOf(definition: Crd): Made {
    const known = this.#made.get(definition.name);
    if (known?.definition === definition) return known;
    const isSameSpec =
      known?.definition.uid === definition.uid && known.definition.generation === definition.generation;
    const schemas = isSameSpec ? known.schemas : new Map<string, CustomSchema>();
    const made: Made = { definition, schemas, endpoints: new Map() };
    this.#made.set(definition.name, made);
    return made;
  }

  #partsOf(definition: Crd, schemas: Map<string, CustomSchema>): CustomEndpointParts {
    const { storageRoot, catalog, encodingOf, convert } = this.#parts;
    const { group, storageVersion, acceptedNames } = definition;
    const name = storageVersionName(group, acceptedNames.plural);
    return {
      storageRoot,
      catalog,
      schemas,
      encoding: encodingOf?.(name) ?? fixedEncoding({ group, version: storageVersion }),
      convert: convert(definition),
      rejectCreation: (object, looks) => this.#rejectCreation(definition, object, looks),
    };
  }

  /**
   * Throws if the CRD is terminating, as far as this server knows. Otherwise returns a guard on the revision of the
   * CRD; if the guard does not hold, the caller calls again with "newest".
   */
  async #rejectCreation(
    { name, group, acceptedNames }: Crd,
    object: string,
    looks: "known" | "newest",
  ): Promise<Guard | undefined> {
    const { cache, storageRoot } = this.#parts;
    if (looks === "newest") await cache.catchUp();
    const known = this.#table.get(name);
    if (known === undefined) throw unknownResource();
    const resource = { group, resource: acceptedNames.plural };
    if (known.definition.isTerminating || known.definition.isBeingDeleted)
      throw forbidden(resource, object, "create not allowed while custom resource definition is terminating");
    return {
      key: `${storageRoot}apiextensions.k8s.io/customresourcedefinitions/${name}`,
      revision: known.revision,
    };
  }
}

/** As kubernetes: once established, a CRD is served until it is removed. */
function isServing({ isEstablished }: Crd): boolean {
  return isEstablished;
}
