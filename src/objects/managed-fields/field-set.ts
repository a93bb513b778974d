/**
 * A set of field paths as a tree. A node holds its children, and whether the path that ends at the node is a member of
 * the set. Owning `spec.replicas` does not mean owning `spec`.
 *
 * Sets are immutable and share nodes. Functions of this folder that build a tree pass the nodes to
 * `FieldSet.fromChildren` and keep no reference to them. Invariant: every branch ends in a member.
 */
import { elementKey, parseElementKey, type FieldPath, type PathElement } from "./path-element.ts";

export interface FieldNode {
  readonly member: boolean;
  readonly children: FieldChildren | undefined;
}

/** Keyed by canonical fieldsV1 key. */
export type FieldChildren = ReadonlyMap<string, FieldNode>;

export const LEAF: FieldNode = Object.freeze({ member: true, children: undefined });

const NOTHING: FieldChildren = new Map();

export class FieldSet {
  readonly children: FieldChildren;

  private constructor(children: FieldChildren) {
    this.children = children;
  }

  static of(...paths: readonly FieldPath[]): FieldSet {
    return paths.reduce((set, path) => set.insert(path), FieldSet.fromChildren(undefined));
  }

  static fromChildren(children: FieldChildren | undefined): FieldSet {
    return new FieldSet(children ?? NOTHING);
  }

  get isEmpty(): boolean {
    return this.children.size === 0;
  }

  /** The number of paths in the set. */
  get size(): number {
    return countMembers(this.children);
  }

  has(path: FieldPath): boolean {
    let node: FieldNode | undefined;
    let children: FieldChildren | undefined = this.children;
    for (const element of path) {
      node = children?.get(elementKey(element));
      children = node?.children;
    }
    return node?.member ?? false;
  }

  /** Inserting the empty path has no effect: it is the whole object, which no manager can own. */
  insert(path: FieldPath): FieldSet {
    let node = LEAF;
    for (const element of path.toReversed()) node = { member: false, children: new Map([[elementKey(element), node]]) };
    return this.union(new FieldSet(node.children ?? NOTHING));
  }

  union(other: FieldSet): FieldSet {
    return this.#with(unionChildren(this.children, other.children));
  }

  intersection(other: FieldSet): FieldSet {
    return this.#with(intersectChildren(this.children, other.children));
  }

  /** Removes the members of the other set; paths below them stay. */
  difference(other: FieldSet): FieldSet {
    return this.#with(subtractChildren(this.children, other.children, subtractNode));
  }

  /** Removes the members of the other set and all paths below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.#with(subtractChildren(this.children, other.children, subtractNodeAndBelow));
  }

  /** The paths of the set that have no other path of the set below them. */
  leaves(): FieldSet {
    return this.#with(leavesOf(this.children));
  }

  equals(other: FieldSet): boolean {
    return childrenEqual(this.children, other.children);
  }

  /** Every path in the set, parents before children. */
  *paths(): Generator<FieldPath> {
    yield* memberPaths(this.children, []);
  }

  #with(children: FieldChildren | undefined): FieldSet {
    return children === this.children ? this : new FieldSet(children ?? NOTHING);
  }
}

function countMembers(children: FieldChildren): number {
  let count = 0;
  for (const node of children.values()) {
    count += (node.member ? 1 : 0) + (node.children === undefined ? 0 : countMembers(node.children));
  }
  return count;
}

function unionChildren(left: FieldChildren, right: FieldChildren): FieldChildren {
  if (right.size === 0 || left === right) return left;
  if (left.size === 0) return right;
  let result: Map<string, FieldNode> | undefined;
  for (const [key, node] of right) {
    const own = left.get(key);
    const merged = own === undefined ? node : unionNode(own, node);
    if (merged === own) continue;
    result ??= new Map(left);
    result.set(key, merged);
  }
  return result ?? left;
}

function unionNode(left: FieldNode, right: FieldNode): FieldNode {
  const children = unionOptional(left.children, right.children);
  const member = left.member || right.member;
  if (children === left.children && member === left.member) return left;
  return { member, children };
}

function unionOptional(left: FieldChildren | undefined, right: FieldChildren | undefined): FieldChildren | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return unionChildren(left, right);
}

function intersectChildren(left: FieldChildren, right: FieldChildren): FieldChildren | undefined {
  if (left === right) return left;
  let result: Map<string, FieldNode> | undefined;
  for (const [key, node] of left) {
    const other = right.get(key);
    const both = other && intersectNode(node, other);
    if (both === undefined) continue;
    result ??= new Map();
    result.set(key, both);
  }
  return result;
}

function intersectNode(left: FieldNode, right: FieldNode): FieldNode | undefined {
  const children = left.children && right.children && intersectChildren(left.children, right.children);
  return nodeOrNothing(left.member && right.member, children);
}

type Subtract = (node: FieldNode, other: FieldNode) => FieldNode | undefined;

function subtractChildren(left: FieldChildren, right: FieldChildren, subtract: Subtract): FieldChildren | undefined {
  let result: Map<string, FieldNode> | undefined;
  for (const [key, other] of right) {
    const node = left.get(key);
    if (node === undefined) continue;
    const rest = subtract(node, other);
    if (rest === node) continue;
    result ??= new Map(left);
    if (rest === undefined) result.delete(key);
    else result.set(key, rest);
  }
  if (result === undefined) return left;
  return result.size === 0 ? undefined : result;
}

function subtractNode(node: FieldNode, other: FieldNode): FieldNode | undefined {
  return withoutBelow(node, other, { member: node.member && !other.member, subtract: subtractNode });
}

function subtractNodeAndBelow(node: FieldNode, other: FieldNode): FieldNode | undefined {
  if (other.member) return undefined;
  return withoutBelow(node, other, { member: node.member, subtract: subtractNodeAndBelow });
}

function withoutBelow(
  node: FieldNode,
  other: FieldNode,
  { member, subtract }: { readonly member: boolean; readonly subtract: Subtract },
): FieldNode | undefined {
  const children =
    node.children && other.children ? subtractChildren(node.children, other.children, subtract) : node.children;
  if (member === node.member && children === node.children) return node;
  return nodeOrNothing(member, children);
}

function nodeOrNothing(member: boolean, children: FieldChildren | undefined): FieldNode | undefined {
  if (children === undefined) return member ? LEAF : undefined;
  return { member, children };
}

function leavesOf(children: FieldChildren): FieldChildren {
  const result = new Map<string, FieldNode>();
  for (const [key, node] of children) {
    result.set(key, node.children === undefined ? node : { member: false, children: leavesOf(node.children) });
  }
  return result;
}

function childrenEqual(left: FieldChildren | undefined, right: FieldChildren | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined || left.size !== right.size) return false;
  for (const [key, node] of left) {
    const other = right.get(key);
    if (other === undefined || node.member !== other.member || !childrenEqual(node.children, other.children))
      return false;
  }
  return true;
}

function* memberPaths(children: FieldChildren, prefix: FieldPath): Generator<FieldPath> {
  for (const [key, node] of children) {
    const element = parseElementKey(key) as PathElement;
    const path = [...prefix, element];
    if (node.member) yield path;
    if (node.children !== undefined) yield* memberPaths(node.children, path);
  }
}
