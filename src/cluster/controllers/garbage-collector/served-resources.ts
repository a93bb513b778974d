/** Finds the resources that the cluster serves, by kind or by group and resource. */
import type { ResourceType } from "../../../client/objects.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import type { ClusterResource, ClusterResources, Doubt } from "../cluster-resources.ts";

export class ServedResources {
  readonly #resources: ClusterResources;
  #indexed: readonly ClusterResource[] | undefined;
  #byName = new Map<string, ClusterResource>();
  #byKind = new Map<string, ClusterResource[]>();

  constructor(resources: ClusterResources) {
    this.#resources = resources;
  }

  all(): readonly ClusterResource[] {
    return this.#resources.served();
  }

  get(resource: GroupResource): ClusterResource | undefined {
    this.#index();
    return this.#byName.get(formatGroupResource(resource));
  }

  /**
   * The resources of a kind that support get. The version in an owner reference is ignored, because it may no longer be
   * served. Releases may serve one kind as different resources, so there may be several.
   */
  ofKind(group: string, kind: string): readonly ClusterResource[] {
    this.#index();
    return this.#byKind.get(kindKey(group, kind)) ?? [];
  }

  /** The resource with the version to request now; undefined if no server serves it. */
  typeOf(of: GroupResource): ResourceType | undefined {
    const found = this.get(of);
    const version = found?.versions[0];
    if (found === undefined || version === undefined) return undefined;
    const { group, resource, namespaced } = found;
    return { group, resource, namespaced, version };
  }

  doubts(): readonly Doubt[] {
    return this.#resources.doubts();
  }

  #index(): void {
    const served = this.#resources.served();
    if (served === this.#indexed) return;
    this.#indexed = served;
    this.#byName = new Map(served.map((resource) => [formatGroupResource(resource), resource]));
    const readable = served.filter(({ verbs }) => verbs.has("get"));
    this.#byKind = Map.groupBy(readable, ({ group, kind }) => kindKey(group, kind));
  }
}

/** Whether the doubt may be the reason why this group, or this resource, is missing in `served`. */
export function isDoubtAbout(doubt: Doubt, { group, resource }: { group: string; resource?: string }): boolean {
  if (doubt.group !== undefined && doubt.group !== group) return false;
  return doubt.resource === undefined || resource === undefined || doubt.resource === resource;
}

function kindKey(group: string, kind: string): string {
  return `${group}/${kind}`;
}
