/** Changes a valid object. After likely changes it is mostly still valid; hostile changes try to break the server. */
import { isJsonObject, setMember, type JsonObject } from "../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../src/objects/schema.ts";
import type { Weighted } from "./dice.ts";
import { hostileKey, hostileOf, randomValue, type Recipe } from "./generate.ts";
import { hostileValue } from "./hostile-values.ts";
import { Literal, Members } from "./json-text.ts";

/** The position of a value in an object, and its schema. */
interface Place {
  readonly parent: JsonObject | unknown[];
  readonly key: string;
  readonly field: FieldSchema | undefined;
}

/** An object with a known schema. */
interface Struct {
  readonly object: JsonObject;
  readonly schema: StructSchema;
}

interface Layout {
  readonly places: Place[];
  readonly structs: Struct[];
}

const PLACES_MAX = 300;
/** Metadata besides the name that a well-behaved client sets on a new object. */
const LIKELY_METADATA: ReadonlySet<string> = new Set(["labels", "annotations", "ownerReferences", "finalizers"]);

export function cloneValue(value: unknown): unknown {
  if (value instanceof Literal || value instanceof Members) return value;
  if (Array.isArray(value)) return value.map(cloneValue);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const [key, member] of Object.entries(value)) setMember(copy, key, cloneValue(member));
  return copy;
}

/** Adds fields of the schema, in place. */
export function decorate(object: JsonObject, schema: StructSchema, recipe: Recipe): JsonObject {
  const { structs } = layoutOf(object, schema);
  const times = recipe.dice.between(1, 4);
  for (let time = 0; time < times; time++) {
    const { object: parent, schema: struct } = recipe.dice.pick(structs);
    const names = [...struct.fields.keys()].filter((name) => isLikely(name, parent === object, struct));
    if (names.length === 0) continue;
    const name = recipe.dice.pick(names);
    if (!Object.hasOwn(parent, name)) setMember(parent, name, randomValue(name, struct.fields.get(name)!, recipe, 1));
  }
  return object;
}

function isLikely(name: string, isTop: boolean, { name: model }: StructSchema): boolean {
  if (isTop) return name !== "kind" && name !== "apiVersion" && name !== "metadata";
  return !model.endsWith(".ObjectMeta") || LIKELY_METADATA.has(name);
}

/** Makes hostile changes, in place. */
export function mutate(object: JsonObject, schema: StructSchema, recipe: Recipe): JsonObject {
  const times = recipe.dice.pick([1, 1, 1, 2, 3]);
  for (let time = 0; time < times; time++) recipe.dice.weighted(MUTATIONS)(layoutOf(object, schema), recipe);
  return object;
}

type Mutation = (layout: Layout, recipe: Recipe) => void;

const MUTATIONS: Weighted<Mutation> = [
  [8, atPlace(({ key, field }, { dice }) => (field === undefined ? hostileValue(dice) : hostileOf(key, field, dice)))],
  [4, atPlace((_, { dice }) => hostileValue(dice))],
  [2, atPlace(() => null)],
  [2, removeSomething],
  [8, addKnownField],
  [2, addUnknownField],
  [2, repeatItem],
  [2, repeatMember],
  [0.5, multiplyItem],
  [1, atPlace(({ parent, key }) => [valueAt(parent, key)])],
  [1, atPlace(({ parent, key }) => ({ [key]: valueAt(parent, key) }))],
  [1, changeCase],
];

function atPlace(value: (place: Place, recipe: Recipe) => unknown): Mutation {
  return ({ places }, recipe) => {
    if (places.length === 0) return;
    const place = recipe.dice.pick(places);
    putAt(place.parent, place.key, value(place, recipe));
  };
}

function removeSomething({ places }: Layout, { dice }: Recipe): void {
  if (places.length === 0) return;
  const { parent, key } = dice.pick(places);
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else delete parent[key];
}

function addKnownField({ structs }: Layout, recipe: Recipe): void {
  const { object, schema } = recipe.dice.pick(structs);
  const names = [...schema.fields.keys()];
  if (names.length === 0) return;
  const name = recipe.dice.pick(names);
  setMember(object, name, randomValue(name, schema.fields.get(name)!, recipe, 1));
}

function addUnknownField({ structs }: Layout, { dice }: Recipe): void {
  setMember(dice.pick(structs).object, hostileKey(dice), hostileValue(dice));
}

function repeatItem({ places }: Layout, { dice }: Recipe): void {
  const lists = places.map(({ parent, key }) => valueAt(parent, key)).filter((value) => Array.isArray(value));
  if (lists.length === 0) return;
  const list: unknown[] = dice.pick(lists);
  const count = dice.pick([1, 1, 2, 120]);
  const item = list[0] ?? {};
  for (let time = 0; time < count; time++) list.push(item);
}

/** Repeats an item of a list many times with distinct values, to find code that is slow for long lists. */
function multiplyItem({ places }: Layout, { dice }: Recipe): void {
  const lists = places.map(({ parent, key }) => valueAt(parent, key)).filter((value) => Array.isArray(value));
  if (lists.length === 0) return;
  const list: unknown[] = dice.pick(lists);
  const item = list[0];
  const count = dice.chance(0.04) ? 4_000 : dice.pick([30, 30, 300]);
  for (let index = 0; index < count; index++)
    list.push(
      isPlain(item)
        ? { ...item, name: `n${index}`, ...(Object.hasOwn(item, "port") ? { port: index + 1 } : {}) }
        : `v${index}`,
    );
}

function repeatMember({ places }: Layout, { dice }: Recipe): void {
  const objects = places.filter(({ parent, key }) => isPlain(valueAt(parent, key)));
  if (objects.length === 0) return;
  const { parent, key } = dice.pick(objects);
  const pairs = Object.entries(valueAt(parent, key) as JsonObject);
  if (pairs.length === 0) return;
  const [name, value] = dice.pick(pairs);
  putAt(parent, key, new Members([...pairs, [name, dice.chance(0.5) ? value : hostileValue(dice)]]));
}

function changeCase({ places }: Layout, { dice }: Recipe): void {
  const named = places.filter(({ parent }) => !Array.isArray(parent));
  if (named.length === 0) return;
  const { parent, key } = dice.pick(named);
  setMember(parent as JsonObject, dice.chance(0.5) ? key.toUpperCase() : key + " ", valueAt(parent, key));
}

function valueAt(parent: JsonObject | unknown[], key: string): unknown {
  return Array.isArray(parent) ? parent[Number(key)] : parent[key];
}

function putAt(parent: JsonObject | unknown[], key: string, value: unknown): void {
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else setMember(parent, key, value);
}

function isPlain(value: unknown): value is JsonObject {
  return isJsonObject(value) && !(value instanceof Literal) && !(value instanceof Members);
}

function layoutOf(object: JsonObject, schema: StructSchema): Layout {
  const layout: Layout = { places: [], structs: [{ object, schema }] };
  const enter = (value: unknown, field: FieldSchema | undefined): void => {
    if (layout.places.length > PLACES_MAX) return;
    if (Array.isArray(value))
      value.forEach((item, index) => visit(value, String(index), { item, field: field?.items }));
    else if (isPlain(value)) {
      const struct = field?.struct;
      if (struct !== undefined) layout.structs.push({ object: value, schema: struct });
      for (const [key, item] of Object.entries(value))
        visit(value, key, { item, field: struct === undefined ? field?.items : struct.fields.get(key) });
    }
  };
  const visit = (parent: JsonObject | unknown[], key: string, { item, field }: Visited): void => {
    layout.places.push({ parent, key, field });
    enter(item, field);
  };
  for (const [key, item] of Object.entries(object)) visit(object, key, { item, field: schema.fields.get(key) });
  return layout;
}

interface Visited {
  readonly item: unknown;
  readonly field: FieldSchema | undefined;
}
