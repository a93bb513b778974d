/**
 * Resources that every server serves from objects in the shared store: custom resources and aggregated group versions.
 * Each server decides about them by what it reads from the store, and ignores what the discovery documents of peers say
 * about them.
 */
import type { Clock } from "../../base/clock.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { Exclusions, type Excludable } from "./exclusions.ts";
import { createServedSet, eitherServedSet, type ServedSet } from "./served-set.ts";

export interface SharedSource {
  /** Absent if the source serves nothing through the endpoints of this server. */
  readonly served?: ServedSet;
  /** Whether every object that existed at the start has been read. */
  isLoaded(): boolean;
  /** The names of the resources that the source serves, as `exclusionName` formats them. */
  names(): Iterable<string>;
  /** The returned function removes the listener. */
  onChange(listener: () => void): () => void;
}

export class SharedResources {
  readonly #sources: SharedSource[] = [];
  readonly #listeners = new Set<() => void>();

  add(source: SharedSource): void {
    this.#sources.push(source);
    source.onChange(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  /** The resources of all sources added so far. */
  get served(): ServedSet {
    const sets = this.#sources.flatMap(({ served }) => served ?? []);
    return sets.reduce(eitherServedSet, createServedSet([]));
  }

  isLoaded(): boolean {
    return this.#sources.every((source) => source.isLoaded());
  }

  *names(): Iterable<string> {
    for (const source of this.#sources) yield* source.names();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/**
 * Returns a function that decides whether the document of a peer is ignored for a resource, because the resource is
 * shared.
 */
export function excludeShared(
  { clock, shared }: { readonly clock: Clock; readonly shared: SharedResources },
  builtIn: readonly DiscoveryGroup[],
): (question: Excludable) => boolean {
  const own = createServedSet(builtIn);
  const exclusions = new Exclusions({ isBuiltIn: (group, version) => own.hasGroupVersion(group, version) });
  let isOutdated = true;
  const update = (): void => void exclusions.update(shared.names(), clock.monotonic());
  shared.onChange(() => {
    // After loading, every change is applied at once, so that a resource that is created and soon deleted is not
    // missed. Before that, changes are applied together.
    if (shared.isLoaded()) update();
    else isOutdated = true;
  });
  return (question) => {
    if (isOutdated) update();
    isOutdated = !shared.isLoaded();
    return exclusions.isExcluded(question, clock.monotonic());
  };
}

/**
 * Returns a function that decides whether the document of a peer lists a resource that is not built into a release, and
 * that this server does not know as a shared resource: it was created or deleted a moment ago.
 */
export function createListsUnread(
  isExcluded: (question: Excludable) => boolean,
  builtIn: readonly DiscoveryGroup[],
): (groups: readonly DiscoveryGroup[]) => boolean {
  const own = createServedSet(builtIn);
  let stored: ReadonlySet<string> | undefined;
  const isStored = (question: Excludable): boolean =>
    (stored ??= new Set(storagePlaces().map(formatGroupResource))).has(formatGroupResource(question));
  const isUnread = (question: Excludable): boolean =>
    !own.hasGroupVersion(question.group, question.version) && !isExcluded(question) && !isStored(question);
  return (groups) =>
    groups.some(({ name: group, versions }) =>
      versions.some(({ version, resources }) =>
        resources.some(({ resource }) => isUnread({ group, version, resource })),
      ),
    );
}
