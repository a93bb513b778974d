/**
 * Decides which entries of a peer's discovery document are ignored: custom and aggregated resources. They are defined
 * in the shared store, so every server sees them itself, and a peer's document may still list a resource that was
 * deleted a moment ago. Hence deleted ones stay excluded for a grace period. Resources that this server has not seen
 * yet are not excluded: a peer that saw them first may serve them.
 *
 * Custom resources are excluded one by one, aggregated group versions as a whole, and built-in group versions never: a
 * peer of another release may serve a built-in resource in the group version of a custom resource.
 */
import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";

export interface Excludable {
  readonly group: string;
  readonly version: string;
  /** "" for the group version as a whole. */
  readonly resource: string;
}

interface ExclusionOptions {
  /** How long a deleted one stays excluded: longer than peers need to see the deletion. */
  readonly graceMs?: number;
  /** Whether this server's release serves the group version itself. */
  readonly isBuiltIn: (group: string, version: string) => boolean;
}

const GRACE_MS = 5 * 60_000;
/** More than clients delete within the grace period; beyond it the oldest are forgotten. */
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
      // One created again within the grace period was excluded all along.
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

  /** When the next deleted one stops being excluded: values derived from `isExcluded` must be computed again then. */
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

/** A version of a CRD is named with its plural, an APIService without a resource. */
export function exclusionName({ group, version, resource }: Excludable): string {
  return resource === "" ? `${group}/${version}` : `${group}/${version}/${resource}`;
}

/**
 * A peer's document without excluded resources, without group versions left empty, and without groups left empty. The
 * same array if nothing is excluded.
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
