/**
 * Determines the version in which each resource is written at the moment, from the StorageVersion objects in the store.
 *
 *    unpublished → (this run has published its entry) → by the object: open in the version of that entry, or closed
 *
 * Each revision of an object is evaluated separately, and a write is guarded by the revision that was evaluated: if the
 * object has changed meanwhile, the store rejects the write.
 */
import type { Clock } from "../../base/clock.ts";
import {
  formatGroupResource,
  formatGroupVersion,
  parseGroupVersion,
  type GroupResource,
  type GroupVersion,
} from "../../meta/group-version.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import type { Encoding } from "../../serving/registry/resource.ts";
import type { Guard } from "../../storage/kv.ts";
import { writability, type StoredVersions } from "./agreement.ts";
import { isPublishedByServer } from "./implied-entries.ts";
import type { StorageVersionStatus } from "./objects.ts";

/** A resource that this server stores, as its StorageVersion object names it. */
export interface StoredResourceVersions extends GroupResource, StoredVersions {
  /** The name of the StorageVersion object. */
  readonly name: string;
  /** Every group and resource under which clients can request it: events belong to two groups. */
  readonly aliases: readonly GroupResource[];
  readonly served: readonly string[];
  /**
   * True if publishing itself needs the resource, so that it is written before anything is published. All servers
   * always write it in one version.
   */
  readonly isNeededToPublish: boolean;
  /** The CRD that owns the StorageVersion object; undefined for a built-in resource. */
  readonly definition?: { readonly name: string; readonly uid: string } | undefined;
}

interface BoundEncoding {
  readonly version: GroupVersion;
  readonly guard?: Guard;
}

interface EncodingsOptions {
  readonly clock: Clock;
  readonly serverId: string;
  readonly resources: readonly StoredResourceVersions[];
  /** The key prefix of StorageVersion objects. */
  readonly keyPrefix: string;
}

/** How long a write waits for the agreement before it is rejected. Servers agree again within milliseconds. */
const WAIT_MS = 2_000;
const RETRY_AFTER_SECONDS = 1;
const UNREGISTERED = "wait for storage version registration to complete for resource: ";

type Verdict = { readonly open: BoundEncoding } | { readonly closed: string };

interface State {
  resource: StoredResourceVersions;
  unbound: BoundEncoding;
  isPublished: boolean;
  verdict: Verdict;
  /** Why this server must not write the resource, whatever the StorageVersion object says. */
  unreadable: string | undefined;
  waiting: (() => void)[];
}

const NO_OBJECT = "it has no StorageVersion object";
const UNREAD = "its StorageVersion object has changed and has not been read yet";
const DROPPED = "other servers treat this server as departed until it has published its StorageVersion entry again";

export class Encodings {
  readonly #options: EncodingsOptions;
  readonly #states = new Map<string, State>();
  readonly #byResource = new Map<string, State>();
  readonly #unpublished = new Set<string>();
  /** The evaluation of every object, including objects of resources that are not stored here yet. */
  readonly #seen = new Map<string, Verdict>();
  /** The servers that have published an entry themselves, by object. */
  readonly #publishers = new Map<string, readonly string[]>();
  /** The revision of each object that has an entry of this server. */
  readonly #registered = new Map<string, Guard>();
  /** The last revision of each object before peers removed the entry of this server from it. */
  readonly #droppedAfter = new Map<string, number>();

  constructor(options: EncodingsOptions) {
    this.#options = options;
    for (const resource of options.resources) this.put(resource);
  }

  /**
   * Adds a resource that is stored here from now on, or changes its versions. The published version stays in use until
   * another one is published, unless this server can no longer decode it.
   */
  put(resource: StoredResourceVersions): void {
    const { name } = resource;
    const unbound = { version: parseGroupVersion(resource.preferred) };
    const known = this.#states.get(name);
    if (known === undefined) {
      const verdict = this.#seen.get(name) ?? { closed: NO_OBJECT };
      const state: State = { resource, unbound, isPublished: false, verdict, unreadable: undefined, waiting: [] };
      this.#states.set(name, state);
      if (!isDefined(state)) this.#unpublished.add(name);
      for (const alias of resource.aliases) this.#byResource.set(formatGroupResource(alias), state);
      return;
    }
    known.resource = resource;
    known.unbound = unbound;
    const { verdict } = known;
    if ("open" in verdict && resource.decodable.includes(formatGroupVersion(verdict.open.version))) return;
    known.isPublished = false;
  }

  /** Removes a resource that is no longer stored here. Waiting writes are rejected. */
  remove(name: string): void {
    const state = this.#states.get(name);
    if (state === undefined) return;
    this.#states.delete(name);
    this.#unpublished.delete(name);
    for (const alias of state.resource.aliases) this.#byResource.delete(formatGroupResource(alias));
    state.isPublished = false;
    state.unreadable = "this server no longer stores it";
    wake(state);
  }

  /** Whether every built-in resource has been published. Writes of custom resources wait for their own publication. */
  get isOpen(): boolean {
    return this.#unpublished.size === 0;
  }

  /**
   * The name of the StorageVersion object of a built-in resource that is not published yet; otherwise undefined. Writes
   * of the resource are rejected until it is published.
   */
  unpublishedName(group: string, resource: string): string | undefined {
    const state = this.#byResource.get(formatGroupResource({ group, resource }));
    return state === undefined || state.isPublished || isDefined(state) ? undefined : state.resource.name;
  }

  /** Whether the server has published storage versions itself. */
  isPublisher(serverId: string): boolean {
    return [...this.#publishers.values()].some((ids) => ids.includes(serverId));
  }

  /** Called when the current entry of this run has been stored. */
  published(name: string): void {
    const state = this.#states.get(name);
    if (state === undefined) return;
    state.isPublished = true;
    this.#unpublished.delete(name);
    wake(state);
  }

  /** Invalidates all publications, so that every resource must be published again. */
  unpublishAll(): void {
    for (const [name, state] of this.#states) {
      state.isPublished = false;
      if (!isDefined(state)) this.#unpublished.add(name);
    }
  }

  /** Sets the status of the object at this revision of the store; undefined if the object cannot be decoded. */
  observe(name: string, revision: number, status: StorageVersionStatus | undefined): void {
    const verdict: Verdict =
      status === undefined ? { closed: "its StorageVersion object is invalid" } : this.#judge(name, revision, status);
    this.#seen.set(name, verdict);
    this.#publishers.set(name, publishersIn(status));
    if (hasEntryOf(this.#options.serverId, status)) this.#registered.set(name, this.#guard(name, revision));
    else this.#drop(name);
    const state = this.#states.get(name);
    if (state === undefined) return;
    state.verdict = verdict;
    wake(state);
  }

  forget(name: string): void {
    this.#seen.delete(name);
    this.#publishers.delete(name);
    this.#drop(name);
    const state = this.#states.get(name);
    if (state === undefined) return;
    state.verdict = { closed: NO_OBJECT };
    wake(state);
  }

  /** Removes all objects that are not in `names`. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of [...this.#states.keys(), ...this.#seen.keys()]) if (!names.has(name)) this.forget(name);
  }

  /**
   * Closes a resource while objects of it are stored in versions that this server cannot read; `undefined` opens it
   * again.
   */
  setUnreadable(name: string, because: string | undefined): void {
    const state = this.#states.get(name);
    if (state === undefined) return;
    state.unreadable = because;
    wake(state);
  }

  /** The encoding of the resource whose StorageVersion object has this name. */
  of(name: string): Encoding {
    return {
      current: (lost) => this.current(name, lost),
      deletionGuard: (lost) => this.deletionGuard(name, lost),
    };
  }

  /**
   * Returns the version to write, with its guard. Waits for the servers to agree and for this server to publish a new
   * custom resource; throws a 503 if that takes too long. `lost` is the guard with which the store rejected the
   * previous attempt.
   */
  async current(name: string, lost?: BoundEncoding["guard"]): Promise<BoundEncoding> {
    const state = this.#states.get(name);
    if (state === undefined) throw serviceUnavailable(`this server no longer stores ${name}`, RETRY_AFTER_SECONDS);
    if (state.resource.isNeededToPublish) return state.unbound;
    if (!state.isPublished && !isDefined(state)) throw unregistered(state);
    if (state.unreadable !== undefined) throw this.#rejection(state, state.unreadable);
    const known = state.isPublished ? encodingIfChanged(state, lost) : undefined;
    return known ?? this.#wait(state, lost);
  }

  /**
   * Returns the guard of a delete: the StorageVersion object with the entry of this server. Peers remove this entry if
   * they treat this server as departed, for example while its machine is suspended, so the server cannot delete by an
   * old view afterwards. Unlike a put, a delete does not need an agreed version. Returns undefined for a resource that
   * is not guarded. `lost` is the guard with which the store rejected the previous attempt.
   */
  async deletionGuard(name: string, lost?: Guard): Promise<Guard | undefined> {
    const state = this.#states.get(name);
    if (state === undefined || state.resource.isNeededToPublish) return undefined;
    if (!state.isPublished && !isDefined(state)) throw unregistered(state);
    const look = (): Guard | undefined => {
      const guard = this.#registered.get(name);
      if (this.#isDropped(name, lost)) throw this.#rejection(state, DROPPED);
      return state.isPublished && guard?.revision !== lost?.revision ? guard : undefined;
    };
    const guard = look() ?? (await this.#waitFor(state, look));
    if (guard === undefined) throw state.isPublished ? this.#rejection(state, UNREAD) : unregistered(state);
    return guard;
  }

  /** Whether peers have removed the entry of this server, now or since `lost` was current. */
  #isDropped(name: string, lost: Guard | undefined): boolean {
    const droppedAfter = this.#droppedAfter.get(name);
    if (droppedAfter === undefined) return false;
    return !this.#registered.has(name) || (lost !== undefined && lost.revision <= droppedAfter);
  }

  #drop(name: string): void {
    const before = this.#registered.get(name);
    if (before === undefined) return;
    this.#registered.delete(name);
    this.#droppedAfter.set(name, before.revision);
  }

  #guard(name: string, revision: number): Guard {
    return { key: this.#options.keyPrefix + name, revision };
  }

  /** Calls `look` after each change of the resource, until it returns a value. Resolves to undefined after a while. */
  async #waitFor<T>(state: State, look: () => T | undefined, isWorthWaiting = () => true): Promise<T | undefined> {
    const { clock } = this.#options;
    let isLate = false;
    const cancel = clock.after(WAIT_MS, () => {
      isLate = true;
      wake(state);
    });
    try {
      while (!isLate && isWorthWaiting() && (state.isPublished || isDefined(state))) {
        await new Promise<void>((resolve) => state.waiting.push(resolve));
        const found = look();
        if (found !== undefined) return found;
      }
    } finally {
      cancel();
    }
    return undefined;
  }

  async #wait(state: State, lost: BoundEncoding["guard"]): Promise<BoundEncoding> {
    const look = (): BoundEncoding | undefined => (state.isPublished ? encodingIfChanged(state, lost) : undefined);
    const found = await this.#waitFor(state, look, () => state.unreadable === undefined);
    if (found !== undefined) return found;
    if (state.unreadable !== undefined) throw this.#rejection(state, state.unreadable);
    if (!state.isPublished) throw unregistered(state);
    throw this.#rejection(state, "closed" in state.verdict ? state.verdict.closed : UNREAD);
  }

  #judge(name: string, revision: number, status: StorageVersionStatus): Verdict {
    const verdict = writability(status, this.#options.serverId);
    if (verdict.kind === "closed") return { closed: verdict.because };
    return {
      open: { version: parseGroupVersion(verdict.version), guard: this.#guard(name, revision) },
    };
  }

  #rejection({ resource }: State, because: string): Error {
    const what = formatGroupResource(resource);
    return serviceUnavailable(`${what} cannot be written now: ${because}`, RETRY_AFTER_SECONDS);
  }
}

/**
 * Whether the resource is a custom resource. It may be added or changed while the server runs, and is published within
 * moments.
 */
function isDefined({ resource }: State): boolean {
  return resource.definition !== undefined;
}

function unregistered({ resource }: State): Error {
  return serviceUnavailable(UNREGISTERED + formatGroupResource(resource), RETRY_AFTER_SECONDS);
}

function publishersIn(status: StorageVersionStatus | undefined): readonly string[] {
  return (status?.storageVersions ?? []).filter(isPublishedByServer).map(({ apiServerID }) => apiServerID);
}

function hasEntryOf(serverId: string, status: StorageVersionStatus | undefined): boolean {
  return status?.storageVersions?.some(({ apiServerID }) => apiServerID === serverId) === true;
}

/** Returns undefined if the write must wait for a newer object. */
function encodingIfChanged({ verdict }: State, lost: BoundEncoding["guard"]): BoundEncoding | undefined {
  if ("closed" in verdict || verdict.open.guard?.revision === lost?.revision) return undefined;
  return verdict.open;
}

function wake(state: State): void {
  for (const resolve of state.waiting.splice(0)) resolve();
}
