/** Custom resources, made servable: definitions followed in the store, each compiled when it is first used. */
import { must } from "../../../base/assert.ts";
import type { Clock } from "../../../base/clock.ts";
import {
  ALL_VERBS as CATALOGUE_VERBS,
  type Catalogue,
  type CatalogueGroup,
} from "../../../objects/catalogue/catalogue.ts";
import { toCatalogueResource } from "./catalogue-resource.ts";
import { createCustomGroups } from "./custom-groups.ts";
import { DefinitionTable, type KnownDefinition } from "../definition-table.ts";
import { parseDefinition, type Definition, type DefinitionVersion } from "../definition.ts";
import type { ResourceEndpoint } from "../../../serving/endpoints/endpoint.ts";
import { formatGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { jsonEquals, type JsonObject } from "../../../meta/json.ts";
import { forbidden, serviceUnavailable, StatusError, unknownResource } from "../../../meta/status-error.ts";
import { exclusionName } from "../../../cluster/peers/exclusions.ts";
import type { ServedSet } from "../../../cluster/peers/served-set.ts";
import type { CustomSchema } from "../structural-schema/custom-schema.ts";
import type { ResourceQuestion } from "../../../cluster/peers/view.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import { objectIn } from "../../../serving/registry/representation.ts";
import type { CustomShape, Encoding, ServedResource } from "../../../serving/registry/resource.ts";
import type { Guard } from "../../../storage/kv.ts";
import type { WatchCache } from "../../../storage/watch-cache/cache.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import type { StoredResourceVersions } from "../../../cluster/storageversion/encodings.ts";
import { storageVersionName } from "../../../cluster/storageversion/objects.ts";
import type { BackgroundTask } from "../../../base/background.ts";
import { compareApiVersions } from "../../../serving/discovery/order.ts";
import { deleteInstances } from "./custom-instances.ts";
import { customEndpoint, servedVersion, type CustomEndpointParts } from "./custom-endpoint.ts";
import { followPrefix } from "../../../storage/watch-cache/follow-prefix.ts";
import type { ResourceTable } from "../../../serving/resources/built-in-table.ts";

export interface CustomResourceParts {
  readonly storageRoot: string;
  readonly clock: Clock;
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly builtIn: ResourceTable;
  /** In which version it is written; absent: in the one that the definition says. */
  readonly encodingOf: ((name: string) => Encoding) | undefined;
  /** Asks the webhook of a definition. */
  readonly convert: (definition: Definition) => NonNullable<CustomShape["convert"]>;
}

export interface CustomResources {
  readonly table: DefinitionTable;
  readonly task: BackgroundTask;
  /** Every group served, with what is built in. The same array, and the same groups in it, until one changes. */
  groups(): readonly CatalogueGroup[];
  /** Undefined for what no definition that is known here serves. */
  resolve(group: string, version: string, resource: string): ResourceEndpoint | undefined;
  /** Looks for the newest definition, and waits until it is decided whether it is served; throws a 503 when it stays open. */
  settle(context: RegistryContext, question: GroupVersion & { readonly resource: string }): Promise<void>;
  /** Deletes what is stored of a definition, in whatever version, and resolves to how many objects finalizers hold. */
  deleteInstances(context: RegistryContext, definition: Definition, signal: AbortSignal): Promise<number>;
  readonly hasGroup: (group: string) => boolean;
  /** What definitions serve, or will in a moment: then the answer is that it takes a moment. */
  readonly served: ServedSet;
  /** Every served version of every definition, as peers' documents are held against it. */
  names(): Iterable<string>;
}

const RETRY_AFTER_SECONDS = 1;
/** Definitions are decided upon within milliseconds; a request waits that long rather than to be refused. */
const SETTLE_MS = 2_000;

export function createCustomResources(parts: CustomResourceParts): CustomResources {
  const { storageRoot, clock, cache, catalogue, builtIn } = parts;
  const { served: definitions } = builtIn.resolve("apiextensions.k8s.io", "v1", "customresourcedefinitions") ?? {};
  const prefix = `${storageRoot}apiextensions.k8s.io/customresourcedefinitions/`;
  const table = new DefinitionTable();
  const toKnown = (entry: Entry): KnownDefinition | undefined => readDefinition(entry, definitions);
  const endpoints = new EndpointCache(parts, table);
  const task = followPrefix({
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
  const inCatalogue = rememberedFor(table, toCatalogueResource);
  const groupsWith = createCustomGroups(catalogue.groups);
  const groups = onceFor(table, () =>
    groupsWith(table.definitions().flatMap((definition) => inCatalogue(definition) ?? [])),
  );
  const groupNames = onceFor(table, () => new Set(table.definitions().map(({ group }) => group)));
  return {
    table,
    task,
    groups,
    resolve: (group, version, resource) => endpoints.find(group, version, resource),
    hasGroup: (group) => groupNames().has(group),
    served: servedSet(table, (group) => groupNames().has(group)),
    names: () => table.definitions().flatMap(exclusionNames),
    deleteInstances: (context, definition, signal) => deleteInstances(context, endpoints.stored(definition), signal),
    async settle({ store }, { group, version, resource }) {
      const isOpen = (): boolean => isUndecided(table.find(group, resource)?.definition, version);
      // Also of one that is known here: it may have got the version that is asked for a moment ago.
      const entry = await store.get(`${prefix}${resource}.${group}`, { kind: "newest" });
      const known = entry && toKnown(entry);
      if (known !== undefined) table.put(known);
      const until = clock.monotonic() + SETTLE_MS;
      while (isOpen() && clock.monotonic() < until) await nextChange(table, clock, until - clock.monotonic());
      if (isOpen()) throw undecided(group, resource);
    },
  };
}

function servedSet(table: DefinitionTable, hasGroup: (group: string) => boolean): ServedSet {
  const find = ({ group, version, resource }: ResourceQuestion): DefinitionVersion | undefined => {
    const definition = table.find(group, resource)?.definition;
    if (definition === undefined || !(definition.isEstablished || isUndecided(definition, version))) return undefined;
    return definition.versions.find(({ name, isServed }) => name === version && isServed);
  };
  const has = (question: ResourceQuestion): boolean => {
    const version = find(question);
    if (version === undefined) return false;
    const { subresource } = question;
    if (subresource === "status") return version.hasStatus;
    return subresource === "scale" ? version.scale !== undefined : subresource === "";
  };
  return {
    has,
    hasVerb: (question, verb) => has(question) && (question.subresource === "" ? ALL_VERBS : DOOR_VERBS).has(verb),
    hasGroupVersion: (group, version) =>
      hasGroup(group) &&
      table
        .definitions()
        .some((one) => one.group === group && one.versions.some(({ name, isServed }) => name === version && isServed)),
    hasGroup,
  };
}

function exclusionNames({ group, names, versions }: Definition): string[] {
  return versions.map(({ name: version }) => exclusionName({ group, version, resource: names.plural }));
}

function nextChange(table: DefinitionTable, clock: Clock, waitMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(waitMs, resolve);
  void table.nextChange().then(() => {
    cancel();
    resolve();
  });
  return promise;
}

function readDefinition(entry: Entry, served: ServedResource | undefined): KnownDefinition | undefined {
  if (served === undefined || entry.corrupt !== undefined) return undefined;
  try {
    const read = (): JsonObject => objectIn(entry, served);
    return { definition: parseDefinition(read(), read), revision: entry.modRevision };
  } catch (thrown) {
    // One that cannot be read defines nothing, and takes nothing else along.
    if (thrown instanceof StatusError) return undefined;
    throw thrown;
  }
}

/** Nobody has said yet whether it will be served. */
function isUndecided(definition: Definition | undefined, version: string): boolean {
  if (definition === undefined || definition.isEstablished || definition.isBeingDeleted) return false;
  if (definition.areNamesAccepted === false) return false;
  return definition.versions.some(({ name, isServed }) => name === version && isServed);
}

function undecided(group: string, resource: string): StatusError {
  return serviceUnavailable(`the definition of ${resource}.${group} is not established yet`, RETRY_AFTER_SECONDS);
}

function onceFor<T>(table: DefinitionTable, build: () => T): () => T {
  let built: { readonly generation: number; readonly value: T } | undefined;
  return () => {
    if (built?.generation !== table.generation) built = { generation: table.generation, value: build() };
    return built.value;
  };
}

/** Made once of each definition, and still the same when another one says the same. */
function rememberedFor<Value>(
  table: DefinitionTable,
  make: (definition: Definition) => Value,
): (definition: Definition) => Value {
  const made = new Map<string, { readonly definition: Definition; readonly value: Value }>();
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

/** What was made of each definition, for as long as it says the same. */
interface Made {
  readonly definition: Definition;
  /** By version; kept over changes of the status. */
  readonly schemas: Map<string, CustomSchema>;
  readonly endpoints: Map<string, ResourceEndpoint>;
}

class EndpointCache {
  readonly #parts: CustomResourceParts;
  readonly #table: DefinitionTable;
  readonly #made = new Map<string, Made>();

  constructor(parts: CustomResourceParts, table: DefinitionTable) {
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

  /** As its objects are stored, also where no version is served. */
  stored(definition: Definition): ServedResource {
    const stored = definition.versions.find(({ isStorage }) => isStorage);
    const version = must(stored, "one version of a definition is the stored one");
    return servedVersion(definition, version, this.#partsOf(definition, new Map()));
  }

  #madeOf(definition: Definition): Made {
    const known = this.#made.get(definition.name);
    if (known?.definition === definition) return known;
    const isSameSpec =
      known?.definition.uid === definition.uid && known.definition.generation === definition.generation;
    const schemas = isSameSpec ? known.schemas : new Map<string, CustomSchema>();
    const made: Made = { definition, schemas, endpoints: new Map() };
    this.#made.set(definition.name, made);
    return made;
  }

  #partsOf(definition: Definition, schemas: Map<string, CustomSchema>): CustomEndpointParts {
    const { storageRoot, catalogue, encodingOf, convert } = this.#parts;
    const { group, storageVersion, acceptedNames } = definition;
    const name = storageVersionName(group, acceptedNames.plural);
    return {
      storageRoot,
      catalogue,
      schemas,
      encoding: encodingOf?.(name) ?? { current: async () => ({ version: { group, version: storageVersion } }) },
      convert: convert(definition),
      refuseCreation: (object, looks) => this.#refuseCreation(definition, object, looks),
    };
  }

  /** By what is known here, which the guard holds against the store: `newest` is asked for when it did not hold. */
  async #refuseCreation(
    { name, group, acceptedNames }: Definition,
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

const ALL_VERBS: ReadonlySet<string> = new Set(CATALOGUE_VERBS);
const DOOR_VERBS: ReadonlySet<string> = new Set(["get", "patch", "update"]);

/** As kubernetes: once established it is served until it is gone. */
function isServing({ isEstablished }: Definition): boolean {
  return isEstablished;
}

/** What a server has to say of how it stores the resource; undefined for one that it does not. */
export function storedVersionsOf(definition: Definition): StoredResourceVersions | undefined {
  const { group, acceptedNames, versions, storageVersion, isEstablished, name, uid } = definition;
  if (!isEstablished) return undefined;
  const { plural: resource } = acceptedNames;
  const groupVersions = (those: readonly DefinitionVersion[]): string[] =>
    those.map((version) => formatGroupVersion({ group, version: version.name }));
  return {
    group,
    resource,
    name: storageVersionName(group, resource),
    aliases: [{ group, resource }],
    preferred: formatGroupVersion({ group, version: storageVersion }),
    decodable: groupVersions(versions),
    fallbacks: groupVersions(versions.toSorted((left, right) => compareApiVersions(left.name, right.name))),
    served: groupVersions(versions.filter(({ isServed }) => isServed)),
    isNeededToPublish: false,
    definition: { name, uid },
  };
}
