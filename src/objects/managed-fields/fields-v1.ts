/** Encodes and decodes a field set as the `fieldsV1` of managedFields. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { FieldSet, LEAF, type FieldChildren, type FieldNode } from "./field-set.ts";
import { canonicalKey, compareElementKeys, FieldSetError } from "./path-element.ts";

/** The key that marks a path element itself as owned if elements below it are listed too. */
const SELF = ".";

/**
 * The value of an element without children. It is one shared object, because field sets have very many such elements.
 */
const OWNED: JsonObject = Object.freeze({});

export function toFieldsV1(set: FieldSet): JsonObject {
  const result: JsonObject = {};
  writeChildren(set.children, result);
  return result;
}

function writeChildren(children: FieldChildren, target: JsonObject): void {
  for (const key of sortedKeys(children)) {
    const node = children.get(key)!;
    target[key] = node.children === undefined ? OWNED : belowNode(node.member, node.children);
  }
}

function belowNode(member: boolean, children: FieldChildren): JsonObject {
  const below: JsonObject = member ? { [SELF]: OWNED } : {};
  writeChildren(children, below);
  return below;
}

/** Sorts only if necessary: sets that were decoded and changed little are already sorted. */
function sortedKeys(children: FieldChildren): string[] {
  const keys = [...children.keys()];
  for (let index = 1; index < keys.length; index++) {
    if (compareElementKeys(keys[index - 1]!, keys[index]!) > 0) return keys.sort(compareElementKeys);
  }
  return keys;
}

export function fromFieldsV1(value: unknown): FieldSet {
  if (value === undefined || value === null) return FieldSet.of();
  if (!isJsonObject(value)) throw new FieldSetError("fieldsV1 must be an object");
  return FieldSet.fromChildren(readChildren(value, 1));
}

function readChildren(value: JsonObject, depth: number): FieldChildren | undefined {
  if (depth > JSON_DEPTH_MAX) throw new FieldSetError(`fieldsV1 nests deeper than ${JSON_DEPTH_MAX}`);
  let children: Map<string, FieldNode> | undefined;
  for (const key of Object.keys(value)) {
    if (key === SELF) continue;
    const canonical = canonicalKey(key);
    if (canonical === undefined) continue;
    children ??= new Map();
    children.set(canonical, readNode(value[key], depth));
  }
  return children;
}

function readNode(value: unknown, depth: number): FieldNode {
  if (value === null) return LEAF;
  if (!isJsonObject(value)) throw new FieldSetError("every member of fieldsV1 must be an object");
  const children = readChildren(value, depth + 1);
  return children === undefined ? LEAF : { member: Object.hasOwn(value, SELF), children };
}
