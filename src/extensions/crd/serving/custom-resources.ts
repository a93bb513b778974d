/** Serves custom resources as endpoints. It watches the CRDs in the store, and compiles a CRD when it is first used. */
import type { BackgroundTask } from "../../../base/background.ts";
import type { Clock } from "../../../base/clock.ts";
import { exclusionName } from "../../../cluster/peers/exclusions.ts";
import type { ServedSet } from "../../../cluster/peers/served-set.ts";
import type { GroupVersion } from "../../../meta/group-version.ts";
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";
import { serviceUnavailable, StatusError } from "../../../meta/status-error.ts";
import type { CatalogGroup } from "../../../objects/catalog/catalog.ts";
import type { ResourceEndpoint } from "../../../serving/endpoints/endpoint.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import { objectIn } from "../../../serving/registry/representation.ts";
import type { ServedResource } from "../../../serving/registry/resource.ts";
import { rejectCorrupt } from "../../../serving/registry/storage-errors.ts";
import { prefixEnd } from "../../../storage/kv.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { watchPrefix } from "../../../storage/watch-cache/watch-prefix.ts";
import { CrdTable, type KnownCrd } from "../crd-table.ts";
import { parseCrd, type Crd } from "../crd.ts";
import { toCatalogResource } from "./catalog-resource.ts";
import { createCustomGroups } from "./custom-groups.ts";
import { deleteInstances } from "./custom-instances.ts";
import { isUndecided, servedSet } from "./crds-served.ts";
import { EndpointCache, type CustomResourceParts } from "./endpoint-cache.ts";

export interface CustomResources {
  readonly table: CrdTable;
  readonly task: BackgroundTask;
  /**
   * Every served group, including built-in groups. Returns the same array until a group changes, and the same group
   * until its resources change.
   */
  groups(): readonly CatalogGroup[];
  /** Undefined if no CRD in the table serves the resource. */
  resolve(group: string, version: string, resource: string): ResourceEndpoint | undefined;
  /**
   * Reads the newest CRD from the store, and waits until the controller has decided whether the CRD is established.
   * Throws a 503 if the decision takes too long, and a 500 if the CRD cannot be decoded.
   */
  settle(context: RegistryContext, question: GroupVersion & { readonly resource: string }): Promise<void>;
  readonly stored: StoredCrds;
  readonly hasGroup: (group: string) => boolean;
  /**
   * The resources that CRDs serve or will serve soon. Requests for a resource that is not served yet return 503 rather
   * than 404.
   */
  readonly served: ServedSet;
  /** Names of every version of every CRD, which are excluded from the discovery documents of peers. */
  names(): Iterable<string>;
}

/** Reads and deletions of the CRD controller in the store. */
interface StoredCrds {
  /** Reads the newest CRDs from the store into the table. */
  readNewest(context: RegistryContext): Promise<void>;
  /**
   * Deletes the stored instances of a CRD. Resolves to the number of remaining instances, for example those with
   * finalizers.
   */
  deleteInstances(context: RegistryContext, definition: Crd, signal: AbortSignal): Promise<number>;
}

const RETRY_AFTER_SECONDS = 1;
/** How long a request waits for a CRD to be established, which normally takes milliseconds. */
const SETTLE_MS = 2_000;

export function createCustomResources(parts: CustomResourceParts): CustomResources {
  const { storageRoot, clock, cache, catalog, builtIn } = parts;
  const { served: crds } = builtIn.resolve("apiextensions.k8s.io", "v1", "customresourcedefinitions") ?? {};
  const prefix = `${storageRoot}apiextensions.k8s.io/customresourcedefinitions/`;
  const table = new CrdTable();
  const toKnown = (entry: Entry): KnownCrd | undefined => readCrd(entry, crds);
  const endpoints = new EndpointCache(parts, table);
  const task = watchPrefix({
    cache,
    clock,
    prefix,
    table: {
      reset: (entries) => table.reset(entries.flatMap((entry) => toKnown(entry) ?? [])),
      put(entry) {
        const known = toKnown(entry);
        if (known !== undefined) table.put(known);
      },
      remove: (key) => table.remove(key.slice(prefix.length)),
    },
  });
  const inCatalog = rememberedFor(table, toCatalogResource);
  const groupsWith = createCustomGroups(catalog.groups);
  const groups = onceFor(table, () => groupsWith(table.definitions().flatMap((crd) => inCatalog(crd) ?? [])));
  const groupNames = onceFor(table, () => new Set(table.definitions().map(({ group }) => group)));
  return {
    table,
    task,
    groups,
    resolve: (group, version, resource) => endpoints.find(group, version, resource),
    hasGroup: (group) => groupNames().has(group),
    served: servedSet(table, (group) => groupNames().has(group)),
    names: () => table.definitions().flatMap(exclusionNames),
    stored: {
      deleteInstances: (context, definition, signal) => deleteInstances(context, endpoints.stored(definition), signal),
      async readNewest({ store }) {
        const { entries } = await store.list({ start: prefix, end: prefixEnd(prefix) }, { kind: "newest" });
        const isNewer = ({ key, modRevision }: Entry): boolean =>
          (table.get(key.slice(prefix.length))?.revision ?? 0) < modRevision;
        for (const known of entries.filter(isNewer).flatMap((entry) => toKnown(entry) ?? [])) table.put(known);
      },
    },
    async settle({ store }, { group, version, resource }) {
      const isOpen = (): boolean => isUndecided(table.find(group, resource)?.definition, version);
      // Reads the CRD even if the table has it, because the requested version may just have been added to it.
      const entry = await store.get(`${prefix}${resource}.${group}`, { kind: "newest" });
      // The resource exists, although this server cannot serve it: a 404 would let clients create it again.
      if (entry !== undefined) rejectCorrupt(entry);
      const known = entry && toKnown(entry);
      if (known !== undefined) table.put(known);
      const until = clock.monotonic() + SETTLE_MS;
      while (isOpen() && clock.monotonic() < until) await nextChange(table, clock, until - clock.monotonic());
      if (isOpen()) throw undecided(group, resource);
    },
  };
}

function exclusionNames({ group, names, versions }: Crd): string[] {
  return versions.map(({ name: version }) => exclusionName({ group, version, resource: names.plural }));
}

function nextChange(table: CrdTable, clock: Clock, waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(waitMs, resolve);
  void table.nextChange().then(() => {
    cancel();
    resolve();
  });
  return promise;
}

function readCrd(entry: Entry, served: ServedResource | undefined): KnownCrd | undefined {
  if (served === undefined || entry.corrupt !== undefined) return undefined;
  try {
    const read = (): JsonObject => objectIn(entry, served);
    return { definition: parseCrd(read(), read), revision: entry.modRevision };
  } catch (thrown) {
    // A CRD that cannot be decoded serves nothing, and does not affect other CRDs.
    if (thrown instanceof StatusError) return undefined;
    throw thrown;
  }
}

function undecided(group: string, resource: string): StatusError {
  return serviceUnavailable(
    `the custom resource definition ${resource}.${group} is not established yet`,
    RETRY_AFTER_SECONDS,
  );
}

function onceFor<T>(table: CrdTable, build: () => T): () => T {
  let built: { readonly generation: number; readonly value: T } | undefined;
  return () => {
    if (built?.generation !== table.generation) built = { generation: table.generation, value: build() };
    return built.value;
  };
}

/**
 * Computes a value once for each state of a CRD. If the CRD changes and the new value equals the old one, the old one
 * is returned.
 */
function rememberedFor<Value>(table: CrdTable, make: (definition: Crd) => Value): (definition: Crd) => Value {
  const made = new Map<string, { readonly definition: Crd; readonly value: Value }>();
  table.onChange(({ before, after }) => {
    if (after === undefined && before !== undefined) made.delete(before.name);
  });
  return (definition) => {
    const known = made.get(definition.name);
    if (known?.definition === definition) return known.value;
    const fresh = make(definition);
    const value = known !== undefined && jsonEquals(known.value, fresh) ? known.value : fresh;
    made.set(definition.name, { definition, value });
    return value;
  };
}
