/**
 * The graph of owner references, in little memory. It has a node for each object that a watch has shown, and for each
 * object that another one references as an owner.
 *
 * The graph decides nothing. It enqueues objects that have to be examined, for example because an owner was removed or
 * began to be deleted in the foreground, and it lists dependents. The decision is made from the current state in the
 * API, so an outdated graph costs requests, but never causes a wrong deletion.
 *
 * A node without a resource belongs to an object that no watch has shown. Whether it exists is unknown, unless a lookup
 * has set `isKnownAbsent`. Such a node is dropped when its last dependent is gone.
 */
import { SHARED_TEXTS_MAX } from "./collector-limits.ts";
import type { DeletionMode, SeenObject, SeenOwner } from "./seen-object.ts";

/** A resource; all of its nodes share this value. */
export interface GraphResource {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The reference of a dependent to an owner. */
export interface Ownership {
  readonly owner: GraphNode;
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly blocks: boolean;
}

export interface GraphNode {
  readonly uid: string;
  readonly resource: GraphResource | undefined;
  readonly namespace: string;
  readonly name: string;
  readonly deletion: DeletionMode;
  readonly owners: readonly Ownership[];
  readonly dependents: ReadonlySet<GraphNode>;
  readonly isKnownAbsent: boolean;
}

const NO_NODES: ReadonlySet<Node> = new Set();
const NO_OWNERS: readonly Edge[] = [];

interface Edge extends Ownership {
  readonly owner: Node;
}

class Node implements GraphNode {
  readonly uid: string;
  resource: GraphResource | undefined = undefined;
  namespace = "";
  name = "";
  deletion: DeletionMode = "none";
  owners: readonly Edge[] = NO_OWNERS;
  dependents: ReadonlySet<Node> = NO_NODES;
  isKnownAbsent = false;
  /** The edge that was added last. Most dependents have equal references to their owner and can share one edge. */
  lastEdge: Edge | undefined = undefined;

  constructor(uid: string) {
    this.uid = uid;
  }

  addDependent(dependent: Node): void {
    if (this.dependents === NO_NODES) this.dependents = new Set();
    (this.dependents as Set<Node>).add(dependent);
  }

  removeDependent(dependent: Node): void {
    if (this.dependents === NO_NODES) return;
    (this.dependents as Set<Node>).delete(dependent);
    if (this.dependents.size === 0) this.dependents = NO_NODES;
  }
}

export interface GraphSize {
  /** Number of objects that a watch has shown. */
  readonly objects: number;
  /** Number of owners that no watch has shown. */
  readonly unseenOwners: number;
  readonly references: number;
}

export class OwnerGraph {
  readonly #nodes = new Map<string, Node>();
  readonly #counts = new Map<GraphResource, number>();
  readonly #texts = new Map<string, string>();
  readonly #enqueue: (uid: string) => void;

  /** `enqueue` is called with the uid of each object to examine. */
  constructor(enqueue: (uid: string) => void) {
    this.#enqueue = enqueue;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  get size(): GraphSize {
    const objects = this.#counts.values().reduce((sum, count) => sum + count, 0);
    const references = this.#nodes.values().reduce((sum, { owners }) => sum + owners.length, 0);
    return { objects, unseenOwners: this.#nodes.size - objects, references };
  }

  /** Records that the object exists in this state. */
  observe(resource: GraphResource, seen: SeenObject): void {
    const node = this.#nodeOf(seen.uid);
    const isNew = node.resource === undefined;
    const wasDeleting = node.deletion;
    this.#setResource(node, resource);
    node.namespace = this.#shared(seen.namespace);
    node.name = seen.name;
    node.deletion = seen.deletion;
    node.isKnownAbsent = false;
    if (isNew) this.#enqueueDoubtful(node);
    this.#setOwners(node, seen.owners);
    if (seen.deletion === "foreground" && wasDeleting !== "foreground") this.#enqueueAll(node.dependents);
    if (seen.deletion === "foreground" || seen.deletion === "orphan") this.#enqueue(node.uid);
  }

  /** Records that the object was deleted. */
  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#enqueueAll(node.dependents);
    this.#blank(node);
    node.isKnownAbsent = true;
  }

  /** Removes all objects of the resource that are not in `uids`. */
  retain(resource: GraphResource, uids: ReadonlySet<string>): void {
    for (const node of this.#of(resource)) if (!uids.has(node.uid)) this.remove(node.uid);
  }

  /**
   * Drops the objects of a resource that is no longer served. They are not recorded as deleted, because they may still
   * exist.
   */
  forget(resource: GraphResource): void {
    for (const node of this.#of(resource)) {
      const hasDependents = node.dependents.size > 0;
      this.#blank(node);
      if (hasDependents) this.#enqueue(node.uid);
    }
  }

  /** Records the result of a lookup of an owner that no watch has shown. */
  settleAbsence(uid: string, is: "absent" | "present"): void {
    const node = this.#nodes.get(uid);
    if (node === undefined || node.resource !== undefined) return;
    const wasKnownAbsent = node.isKnownAbsent;
    node.isKnownAbsent = is === "absent";
    // Examine the owner again later, because no watch would report its deletion.
    if (wasKnownAbsent && is === "present") this.#enqueue(uid);
  }

  #of(resource: GraphResource): readonly Node[] {
    const count = this.#counts.get(resource) ?? 0;
    return count === 0 ? [] : [...this.#nodes.values().filter((node) => node.resource === resource)];
  }

  #nodeOf(uid: string): Node {
    const existing = this.#nodes.get(uid);
    if (existing !== undefined) return existing;
    const node = new Node(uid);
    this.#nodes.set(uid, node);
    return node;
  }

  #setResource(node: Node, resource: GraphResource | undefined): void {
    if (node.resource === resource) return;
    if (node.resource !== undefined) this.#counts.set(node.resource, (this.#counts.get(node.resource) ?? 0) - 1);
    if (resource !== undefined) this.#counts.set(resource, (this.#counts.get(resource) ?? 0) + 1);
    node.resource = resource;
  }

  /** Drops the state of the object. The node itself stays only while a dependent references it. */
  #blank(node: Node): void {
    this.#setOwners(node, []);
    this.#setResource(node, undefined);
    node.deletion = "none";
    node.isKnownAbsent = false;
    this.#dropUnused(node);
  }

  #dropUnused(node: Node): void {
    if (node.resource === undefined && node.dependents.size === 0) this.#nodes.delete(node.uid);
  }

  #setOwners(node: Node, owners: readonly SeenOwner[]): void {
    const before = node.owners;
    if (isSameOwners(before, owners)) return;
    const edges = owners.filter(({ uid }) => uid !== "").map((owner) => this.#edgeTo(owner));
    node.owners = edges.length === 0 ? NO_OWNERS : edges;
    for (const edge of edges) if (!before.includes(edge)) this.#attach(node, edge);
    for (const edge of before) if (!edges.includes(edge)) this.#detach(node, edge);
  }

  #attach(node: Node, edge: Edge): void {
    const { owner } = edge;
    owner.addDependent(node);
    if (owner.resource === undefined) this.#enqueue(owner.isKnownAbsent ? node.uid : owner.uid);
    else if (!isFitting(edge, node) || owner.deletion === "foreground") this.#enqueue(node.uid);
  }

  #detach(node: Node, { owner }: Edge): void {
    // The dependent was deleted, lost this owner, or stopped blocking it, so the owner may not have to wait any longer.
    if (owner.deletion === "foreground") this.#enqueue(owner.uid);
    if (node.owners.some((edge) => edge.owner === owner)) return;
    owner.removeDependent(node);
    this.#dropUnused(owner);
  }

  #edgeTo({ uid, group, kind, name, blocks }: SeenOwner): Edge {
    const owner = this.#nodeOf(uid);
    const last = owner.lastEdge;
    if (last !== undefined && isSaying(last, { group, kind, name, blocks })) return last;
    const edge: Edge = { owner, group: this.#shared(group), kind: this.#shared(kind), name, blocks };
    owner.lastEdge = edge;
    return edge;
  }

  /** Enqueues dependents whose references do not match the owner. */
  #enqueueDoubtful(owner: Node): void {
    for (const dependent of owner.dependents)
      if (dependent.owners.some((edge) => edge.owner === owner && !isFitting(edge, dependent)))
        this.#enqueue(dependent.uid);
  }

  #enqueueAll(nodes: ReadonlySet<Node>): void {
    for (const { uid } of nodes) this.#enqueue(uid);
  }

  #shared(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= SHARED_TEXTS_MAX) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}

/** Whether the reference crosses namespaces: an owner must be in the namespace of its dependent, or cluster-scoped. */
export function isOfForeignNamespace(dependent: GraphNode, owner: GraphNode): boolean {
  return owner.resource !== undefined && owner.namespace !== "" && owner.namespace !== dependent.namespace;
}

/** The dependents for which an owner waits while it is being deleted in the foreground. */
export function blockingDependents(owner: GraphNode): GraphNode[] {
  return [...owner.dependents].filter(
    (dependent) =>
      dependent !== owner &&
      !isOfForeignNamespace(dependent, owner) &&
      dependent.owners.some((edge) => edge.owner === owner && edge.blocks),
  );
}

/** Whether kind, group, name and namespace in the reference match the owner. */
function isFitting({ owner, group, kind, name }: Ownership, dependent: GraphNode): boolean {
  const { resource } = owner;
  if (resource === undefined) return false;
  const isNamed = resource.kind === kind && resource.group === group && owner.name === name;
  return isNamed && !isOfForeignNamespace(dependent, owner);
}

function isSameOwners(edges: readonly Edge[], owners: readonly SeenOwner[]): boolean {
  if (edges.length !== owners.length) return false;
  return edges.every((edge, index) => {
    const owner = owners[index];
    return owner !== undefined && edge.owner.uid === owner.uid && isSaying(edge, owner);
  });
}

function isSaying(edge: Edge, { group, kind, name, blocks }: Omit<SeenOwner, "uid">): boolean {
  return edge.name === name && edge.kind === kind && edge.group === group && edge.blocks === blocks;
}
