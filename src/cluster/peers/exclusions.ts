/**
 * Decides which entries of a peer's discovery document are ignored: custom and aggregated resources. They are defined
 * in the shared store, so every server sees them itself, and the document of a peer may still list a resource that was
 * deleted a moment ago. For that reason a deleted resource stays excluded for a grace period. A resource that this
 * server has not seen yet is not excluded, because a peer that saw it first may serve it.
 *
 * Custom resources are excluded one by one, and aggregated group versions as a whole. Built-in group versions are never
 * excluded, because a peer of another release may serve a built-in resource in the group version of a custom resource.
 */
import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";

export interface Excludable {
  readonly group: string;
  readonly version: string;
  /** "" means the group version as a whole. */
  readonly resource: string;
}

interface ExclusionOptions {
  /** How long a deleted resource stays excluded: longer than peers need to see the deletion. */
  readonly graceMs?: number;
  /** Whether this server's release serves the group version itself. */
  readonly isBuiltIn: (group: string, version: string) => boolean;
}

const GRACE_MS = 5 * 60_000;
/**
 * Maximum number of deleted resources that are remembered: more than clients delete within the grace period. Beyond it
 * the oldest ones are dropped.
 */
const DELETED_MAX = 20_000;

export class Exclusions {
  readonly #graceMs: number;
  readonly #isBuiltIn: ExclusionOptions["isBuiltIn"];
  #active: ReadonlySet<string> = new Set();
  /** The time of each deletion, oldest first. */
  readonly #deletedAtMs = new Map<string, number>();

  constructor({ graceMs = GRACE_MS, isBuiltIn }: ExclusionOptions) {
    this.#graceMs = graceMs;
    this.#isBuiltIn = isBuiltIn;
  }

  /**
   * Takes the names of all custom and aggregated resources that exist now, as `exclusionName` formats them. Returns
   * whether `isExcluded` changed for any resource.
   */
  update(active: Iterable<string>, nowMs: number): boolean {
    const before = this.#active;
    const after = new Set(active);
    const hasExpired = this.#forgetExpired(nowMs);
    let hasAppeared = false;
    for (const name of after) {
      // A resource that is created again within the grace period was excluded without interruption, so nothing changes.
      if (!this.#deletedAtMs.delete(name) && !before.has(name)) hasAppeared = true;
    }
    for (const name of before) if (!after.has(name)) this.#deletedAtMs.set(name, nowMs);
    this.#active = after;
    return this.#dropOldest() || hasExpired || hasAppeared;
  }

  isExcluded({ group, version, resource }: Excludable, nowMs: number): boolean {
    if (this.#isBuiltIn(group, version)) return false;
    if (this.#isNamed(exclusionName({ group, version, resource: "" }), nowMs)) return true;
    return resource !== "" && this.#isNamed(exclusionName({ group, version, resource }), nowMs);
  }

  /**
   * The time at which the next deleted resource stops being excluded. Values derived from `isExcluded` must be computed
   * again at that time.
   */
  nextExpiryMs(): number | undefined {
    for (const deletedAtMs of this.#deletedAtMs.values()) return deletedAtMs + this.#graceMs;
    return undefined;
  }

  #isNamed(name: string, nowMs: number): boolean {
    if (this.#active.has(name)) return true;
    const deletedAtMs = this.#deletedAtMs.get(name);
    return deletedAtMs !== undefined && nowMs < deletedAtMs + this.#graceMs;
  }

  #forgetExpired(nowMs: number): boolean {
    const before = this.#deletedAtMs.size;
    for (const [name, deletedAtMs] of this.#deletedAtMs) {
      if (nowMs >= deletedAtMs + this.#graceMs) this.#deletedAtMs.delete(name);
    }
    return this.#deletedAtMs.size < before;
  }

  #dropOldest(): boolean {
    const before = this.#deletedAtMs.size;
    for (const name of this.#deletedAtMs.keys()) {
      if (this.#deletedAtMs.size <= DELETED_MAX) break;
      this.#deletedAtMs.delete(name);
    }
    return this.#deletedAtMs.size < before;
  }
}

/**
 * The name of an excluded entry. For a version of a CRD it includes the plural name of the resource; for an APIService
 * it is the group version alone.
 */
export function exclusionName({ group, version, resource }: Excludable): string {
  return resource === "" ? `${group}/${version}` : `${group}/${version}/${resource}`;
}

/**
 * Returns the document of a peer without excluded resources, and without the group versions and groups that become
 * empty. Returns the same array if nothing is excluded.
 */
export function withoutExcluded(
  groups: readonly DiscoveryGroup[],
  isExcluded: (question: Excludable) => boolean,
): readonly DiscoveryGroup[] {
  const kept = groups.flatMap((group) => {
    const versions = group.versions.flatMap((version) => keptVersion(group.name, version, isExcluded));
    if (isSame(versions, group.versions)) return [group];
    return versions.length === 0 ? [] : [{ ...group, versions }];
  });
  return isSame(kept, groups) ? groups : kept;
}

function keptVersion(
  group: string,
  version: DiscoveryVersion,
  isExcluded: (question: Excludable) => boolean,
): DiscoveryVersion[] {
  if (isExcluded({ group, version: version.version, resource: "" })) return [];
  const resources = version.resources.filter(
    ({ resource }) => !isExcluded({ group, version: version.version, resource }),
  );
  if (resources.length === version.resources.length) return [version];
  return resources.length === 0 ? [] : [{ ...version, resources }];
}

function isSame<T>(left: readonly T[], right: readonly T[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index]);
}
