/** Determines whether an owner exists, by looking up the owner reference of a dependent in the API. */
import type { ClusterResource, ClusterResources } from "../cluster-resources.ts";
import type { OwnerGraph } from "./graph.ts";
import type { Holds } from "./holds.ts";
import { ABSENT_OWNERS_MAX, UNAVAILABLE_MS_MAX, UNKNOWN_KIND_MS } from "./collector-limits.ts";
import type { LiveObjects } from "./live-objects.ts";
import { LruSet } from "./lru-set.ts";
import type { DeletionMode, SeenOwner } from "./seen-object.ts";
import { isDoubtAbout, type ServedResources } from "./served-resources.ts";
import { wait, type Wait } from "./wait.ts";

/** The owner that an owner reference of a dependent names. */
export type OwnerPlace = Omit<SeenOwner, "blocks"> & { readonly dependentNamespace: string };

export type OwnerState =
  | { readonly kind: "present"; readonly deletion: DeletionMode }
  | { readonly kind: "absent" }
  /** The reference is invalid, so that no object can match it. */
  | { readonly kind: "impossible" }
  | Wait;

interface OwnerLookupOptions {
  readonly resources: ClusterResources;
  readonly served: ServedResources;
  readonly objects: LiveObjects;
  readonly holds: Holds;
  readonly graph: OwnerGraph;
}

const IMPOSSIBLE: OwnerState = { kind: "impossible" };
const ABSENT: OwnerState = { kind: "absent" };

export class OwnerLookup {
  readonly #options: OwnerLookupOptions;
  /** The keys of absent owners. A key includes the uid, which is never used again, so the result can be kept. */
  readonly #absent = new LruSet(ABSENT_OWNERS_MAX);

  constructor(options: OwnerLookupOptions) {
    this.#options = options;
  }

  async find(place: OwnerPlace, signal: AbortSignal): Promise<OwnerState> {
    if (place.uid === "" || !isObjectName(place.name)) return IMPOSSIBLE;
    const resources = await this.#resolve(place);
    if ("reason" in resources) return resources;
    const possible = resources.filter(({ namespaced }) => !namespaced || place.dependentNamespace !== "");
    let state: OwnerState = possible.length === 0 ? IMPOSSIBLE : ABSENT;
    for (const resource of possible) {
      const found = await this.#findIn(resource, place, signal);
      if (found.kind === "present") return found;
      if (found.kind === "wait") state = found;
    }
    return state;
  }

  /** The wait that holds for this kind at present; sends no request. */
  held({ group, kind }: Pick<OwnerPlace, "group" | "kind">): Wait | undefined {
    const { served, holds } = this.#options;
    for (const { resource } of served.ofKind(group, kind)) {
      const held = holds.get({ group, resource });
      if (held !== undefined) return held;
    }
    return holds.get({ group, resource: kind });
  }

  async #findIn(resource: ClusterResource, place: OwnerPlace, signal: AbortSignal): Promise<OwnerState> {
    const { uid, name } = place;
    const namespace = resource.namespaced ? place.dependentNamespace : "";
    const key = [uid, resource.group, resource.resource, namespace, name].join("\n");
    if (this.#absent.has(key)) return ABSENT;
    const response = await this.#options.objects.get({ resource, namespace, name }, signal);
    if (response.kind === "wait") return response;
    // An object of the same name with another uid is not the owner.
    if (response.kind === "absent" || response.object.uid !== uid) {
      this.#absent.add(key);
      return ABSENT;
    }
    this.#options.graph.settleAbsence(uid, "present");
    return { kind: "present", deletion: response.object.deletion };
  }

  /**
   * If no server serves the kind, the collector waits: that does not prove that the objects are gone, even if all
   * servers are known.
   */
  async #resolve({ group, kind }: OwnerPlace): Promise<readonly ClusterResource[] | Wait> {
    const { served, holds, resources } = this.#options;
    const known = served.ofKind(group, kind);
    if (known.length > 0) return known;
    const subject = { group, resource: kind };
    const held = holds.get(subject);
    if (held !== undefined) return held;
    const isCaughtUp = await resources.catchUp();
    const found = served.ofKind(group, kind);
    if (found.length > 0) {
      holds.release(subject);
      return found;
    }
    if (!isCaughtUp)
      return holds.hold(subject, wait("doubt", UNAVAILABLE_MS_MAX, "the live servers are currently unknown"));
    const doubt = served.doubts().find((candidate) => isDoubtAbout(candidate, { group }));
    if (doubt !== undefined)
      return holds.hold(subject, wait("doubt", UNAVAILABLE_MS_MAX, `${doubt.server} ${doubt.because}`));
    return holds.hold(subject, wait("unknown-kind", UNKNOWN_KIND_MS, "no server serves this kind"));
  }
}

/** As kubernetes: other names would change the request path. */
function isObjectName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/") && !name.includes("%");
}
