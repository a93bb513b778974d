/**
 * Adapts field sets to the current schema, because a list whose items are owned separately in one release may be atomic
 * in another. Paths below an atomic field become the path of that field. A list that is no longer atomic needs no
 * change.
 */
import type { FieldSchema, StructSchema } from "../schema.ts";
import { FieldSet, LEAF, type FieldChildren, type FieldNode } from "./field-set.ts";
import { isAtomicMap, listKeys, rootSchema, schemaBelow } from "./shape.ts";

export function reconcileWithSchema(set: FieldSet, schema: StructSchema): FieldSet {
  const children = reconcileChildren(set.children, rootSchema(schema));
  return children === set.children ? set : FieldSet.fromChildren(children);
}

function reconcileChildren(children: FieldChildren, schema: FieldSchema): FieldChildren {
  let result: Map<string, FieldNode> | undefined;
  // Unlike an iterator, `forEach` allocates nothing for each child.
  children.forEach((node, key) => {
    if (node.children === undefined) return;
    const reconciled = reconcileNode(node, schemaBelow(schema, key));
    if (reconciled === node) return;
    result ??= new Map(children);
    result.set(key, reconciled);
  });
  return result ?? children;
}

function reconcileNode(node: FieldNode, schema: FieldSchema): FieldNode {
  if (node.children === undefined) return node;
  if (isOwnedWhole(schema)) return LEAF;
  const children = reconcileChildren(node.children, schema);
  return children === node.children ? node : { member: node.member, children };
}

function isOwnedWhole(schema: FieldSchema): boolean {
  switch (schema.type) {
    case "array":
      return listKeys(schema) === undefined;
    case "struct":
    case "map":
    case "any":
      return isAtomicMap(schema);
    default:
      return false;
  }
}
