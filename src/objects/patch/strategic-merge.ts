/**
 * Applies a strategic merge patch: a merge patch that uses the type of the object, so that lists are merged by a key of
 * their items, and that has directives for operations which a merge patch cannot express. Never modifies its input;
 * shares unchanged values with it.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import {
  isAlwaysPresent,
  isUnknownMember,
  kindName,
  listMeta,
  memberMeta,
  unknownMember,
  type MergeType,
  type PatchMeta,
} from "./patch-meta.ts";
import { badArgType, badFormat, badPatchType } from "./strategic-error.ts";
import {
  checkElementOrder,
  deleteFromList,
  ELEMENT_ORDER_DIRECTIVE,
  hasDirective,
  listNamed,
  mergeLists,
  orderElements,
  PATCH_DIRECTIVE,
  type ListRules,
  type MergedList,
} from "./strategic-lists.ts";

const RETAIN_KEYS_DIRECTIVE = "$retainKeys";
const DELETE_DIRECTIVE = "$deleteFromPrimitiveList";

export function applyStrategicMergePatch(original: JsonObject, patch: JsonObject, schema: StructSchema): JsonObject {
  return mergeMap(original, patch, schema);
}

function mergeMap(original: JsonObject, patch: JsonObject, type: MergeType): JsonObject {
  if (hasDirective(patch)) return directed(patch);
  const merged = retainedMembers(original, patch);
  const ordered = orderLists(merged, patch, type);
  for (const key of Object.keys(patch)) {
    if (key === RETAIN_KEYS_DIRECTIVE || key.startsWith(ELEMENT_ORDER_DIRECTIVE) || ordered.has(key)) continue;
    mergeMember(merged, { key, value: patch[key], type });
  }
  return merged;
}

function directed(patch: JsonObject): JsonObject {
  const { [PATCH_DIRECTIVE]: directive, ...members } = patch;
  if (directive === "replace") return members;
  if (directive === "delete") return {};
  throw badPatchType(directive, patch);
}

/** Copies the fields of the map. If the patch has $retainKeys, only the fields that it lists are copied. */
function retainedMembers(original: JsonObject, patch: JsonObject): JsonObject {
  if (!Object.hasOwn(patch, RETAIN_KEYS_DIRECTIVE)) return { ...original };
  const retained = patch[RETAIN_KEYS_DIRECTIVE];
  if (!Array.isArray(retained)) throw badFormat("retainKeys");
  const keys = new Set<unknown>(retained);
  for (const key of Object.keys(patch)) {
    if (key === RETAIN_KEYS_DIRECTIVE || patch[key] === null || keys.has(key)) continue;
    if (!key.startsWith(DELETE_DIRECTIVE) && !key.startsWith(ELEMENT_ORDER_DIRECTIVE)) throw badFormat("retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => keys.has(key)));
}

interface Member {
  readonly key: string;
  readonly value: unknown;
  /** The type of the map that contains the field. */
  readonly type: MergeType;
}

function mergeMember(merged: JsonObject, { key, value, type }: Member): void {
  const isDeletion = key.startsWith(DELETE_DIRECTIVE);
  const name = (isDeletion && listNamed(key, DELETE_DIRECTIVE)) || key;
  if (value === null) {
    delete merged[name];
    return;
  }
  const before = Object.hasOwn(merged, name) ? merged[name] : isAlwaysPresent(type, name) ? {} : undefined;
  if (Array.isArray(before) && Array.isArray(value)) {
    setOrDrop(merged, name, mergeListMember(before, { key: name, value, type, isDeletion }));
  } else if (isJsonObject(before) && isJsonObject(value)) {
    const meta = memberMeta(type, name);
    setMember(merged, name, meta.strategy === "replace" ? value : mergeMap(before, value, meta.type));
  } else if (!isDeletion || (typeof before === typeof value && typeof value !== "object")) {
    setOrDrop(merged, name, withoutDirectives(value, { keepsNulls: false }));
  }
}

function mergeListMember(
  before: unknown[],
  { key, value, type, isDeletion }: Member & { readonly value: unknown[]; readonly isDeletion: boolean },
): unknown[] | undefined {
  const meta = listMeta(type, key);
  if (isDeletion) return unlessEmpty(deleteFromList(before, value, listRules(meta)), meta);
  return meta.strategy === "merge" ? unlessEmpty(mergeLists(before, value, listRules(meta)).items, meta) : value;
}

function unlessEmpty(list: unknown[], { isOptional }: PatchMeta): unknown[] | undefined {
  return list.length === 0 && isOptional ? undefined : list;
}

function listRules({ mergeKey, type }: PatchMeta): ListRules {
  return { mergeKey, itemKind: kindName(type), mergeItems: (original, patch) => mergeMap(original, patch, type) };
}

function setOrDrop(merged: JsonObject, name: string, value: unknown): void {
  if (value === undefined) delete merged[name];
  else setMember(merged, name, value);
}

const NONE: ReadonlySet<string> = new Set();

/** Merges the lists for which the patch requests an order. Returns their names, because they need no further merge. */
function orderLists(merged: JsonObject, patch: JsonObject, type: MergeType): ReadonlySet<string> {
  let done: Set<string> | undefined;
  for (const directive of Object.keys(patch)) {
    if (!directive.startsWith(ELEMENT_ORDER_DIRECTIVE)) continue;
    const order = asList(patch[directive]);
    const name = listNamed(directive, ELEMENT_ORDER_DIRECTIVE);
    const original = Object.hasOwn(merged, name) ? asList(merged[name]) : undefined;
    const patched = Object.hasOwn(patch, name) ? asList(patch[name]) : undefined;
    if (isUnknownMember(type, name)) {
      // DIFFERS: kube-apiserver rejects a list that only another release has; here field validation handles such a
      // list.
      if (original === undefined && patched === undefined) throw unknownMember(type, name);
      continue;
    }
    const meta = listMeta(type, name);
    const { mergeKey } = meta;
    checkElementOrder(patched ?? [], order, mergeKey);
    const list = mergedBefore(original, patched, meta);
    if (list === undefined) continue;
    const how = { original: original ?? [], patch: patched ?? [], order, serverOrder: list.serverOrder, mergeKey };
    setOrDrop(merged, name, unlessEmpty(orderElements(list.items, how), meta));
    (done ??= new Set()).add(name);
  }
  return done ?? NONE;
}

/** The merged list before it is sorted. */
function mergedBefore(
  original: unknown[] | undefined,
  patch: unknown[] | undefined,
  meta: PatchMeta,
): MergedList | undefined {
  if (patch === undefined) return original && { items: original, serverOrder: original };
  if (original === undefined) {
    return { items: withoutDirectives(patch, { keepsNulls: true }) as unknown[], serverOrder: [] };
  }
  return meta.strategy === "merge"
    ? mergeLists(original, patch, listRules(meta))
    : { items: patch, serverOrder: original };
}

function asList(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw badArgType("[]interface {}", value);
  return value;
}

/**
 * A new value without directives: drops maps with a directive and, without `keepsNulls`, fields that are null.
 * Undefined if nothing is left of the value.
 */
function withoutDirectives(value: unknown, how: { readonly keepsNulls: boolean }): unknown {
  if (Array.isArray(value)) {
    return value.map((item: unknown) => withoutDirectives(item, how)).filter((item) => item !== undefined);
  }
  if (!isJsonObject(value)) return value;
  if (hasDirective(value) && (how.keepsNulls || value[PATCH_DIRECTIVE] !== null)) return undefined;
  const members: JsonObject = {};
  for (const key of Object.keys(value)) {
    if (value[key] === null && !how.keepsNulls) continue;
    const member = withoutDirectives(value[key], how);
    if (member !== undefined) setMember(members, key, member);
  }
  return members;
}
