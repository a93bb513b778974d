/** Generates patches of all four types from the object's own fields, other fields of its kind, and hostile values. */
import { isJsonObject, setMember, type JsonObject } from "../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../src/objects/schema.ts";
import { type Body, jsonBody, randomBody } from "./bodies.ts";
import type { Dice, Weighted } from "./dice.ts";
import { randomValue, hostileKey, type Recipe } from "./generate.ts";
import { hostileString, hostileValue } from "./hostile-values.ts";
import { cloneValue, decorate, mutate } from "./mutate.ts";

export interface PatchOf {
  /** The object as the create request contained it. */
  readonly object: JsonObject;
  readonly schema: StructSchema;
  readonly recipe: Recipe;
}

export interface Patch extends Body {
  readonly isApply: boolean;
}

type MakePatch = (of: PatchOf) => Patch;

export function randomPatch(of: PatchOf): Patch {
  return of.recipe.dice.weighted(PATCHES)(of);
}

const PATCHES: Weighted<MakePatch> = [
  [3, (of) => ofType("application/json-patch+json", jsonPatch(of), of)],
  [3, (of) => ofType("application/merge-patch+json", mergePatch(of), of)],
  [4, (of) => ofType("application/strategic-merge-patch+json", strategicPatch(of), of)],
  [4, applyPatch],
  [0.3, (of) => ofType(of.recipe.dice.pick(["application/json", "", "text/plain", "application/*"]), {}, of)],
];

function ofType(contentType: string, value: unknown, { recipe: { dice } }: PatchOf): Patch {
  const body = dice.chance(0.95) ? jsonBody(value) : randomBody(value, dice);
  return { ...body, contentType, isApply: false };
}

function applyPatch({ object, schema, recipe }: PatchOf): Patch {
  const { dice } = recipe;
  const applied = cloneValue(object) as JsonObject;
  if (dice.chance(0.3)) delete applied[dice.pick(Object.keys(applied))];
  if (dice.chance(0.6)) decorate(applied, schema, { ...recipe, hostility: 0 });
  if (dice.chance(0.5)) mutate(applied, schema, recipe);
  const body = randomBody(applied, dice);
  const isText = body.contentType !== "application/vnd.kubernetes.protobuf";
  const contentType = dice.chance(0.95) ? "application/apply-patch+yaml" : "application/apply-patch+cbor";
  return { ...(isText ? body : jsonBody(applied)), contentType, isApply: true };
}

function mergePatch({ object, schema, recipe }: PatchOf): unknown {
  const { dice } = recipe;
  if (dice.chance(0.05)) return hostileValue(dice);
  const patch = partOf(object, dice);
  if (dice.chance(0.5)) decorate(patch, schema, { ...recipe, hostility: 0 });
  return dice.chance(0.7) ? mutate(patch, schema, recipe) : patch;
}

/** A copy with only some of the fields, recursively. Some fields are set to null. */
function partOf(object: JsonObject, dice: Dice): JsonObject {
  const part: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (dice.chance(0.4)) continue;
    const inner = isJsonObject(value) && dice.chance(0.6) ? partOf(value, dice) : cloneValue(value);
    setMember(part, key, dice.chance(0.1) ? null : inner);
  }
  return part;
}

function strategicPatch(of: PatchOf): unknown {
  const patch = mergePatch(of);
  if (!isJsonObject(patch)) return patch;
  const { dice } = of.recipe;
  const times = dice.pick([0, 1, 1, 2]);
  for (let time = 0; time < times; time++) addDirective(patch, of.schema, of.recipe);
  return patch;
}

/** Adds a directive of a strategic merge patch at a random position. */
function addDirective(patch: JsonObject, schema: StructSchema, { dice }: Recipe): void {
  let at = patch;
  let struct: StructSchema | undefined = schema;
  for (;;) {
    const inner: [string, JsonObject][] = Object.entries(at).flatMap(([key, value]) => {
      const first: unknown = Array.isArray(value) ? value[0] : value;
      return isJsonObject(first) ? [[key, first]] : [];
    });
    if (inner.length === 0 || dice.chance(0.35)) break;
    const [key, next] = dice.pick(inner);
    const field: FieldSchema | undefined = struct?.fields.get(key);
    struct = field?.struct ?? field?.items?.struct;
    at = next;
  }
  const lists = [...(struct?.fields ?? [])].filter(([, { type }]) => type === "array").map(([name]) => name);
  const list = lists.length > 0 && dice.chance(0.8) ? dice.pick(lists) : hostileKey(dice);
  dice.weighted(DIRECTIVES)(at, list, dice);
}

const DIRECTIVES: Weighted<(at: JsonObject, list: string, dice: Dice) => void> = [
  [4, (at, _, dice) => setMember(at, "$patch", dice.pick(["delete", "replace", "merge", "x", null, 1, {}]))],
  [2, (at, _, dice) => setMember(at, "$retainKeys", dice.pick<unknown>([["name"], [], ["x"], [1], "name", null]))],
  [3, (at, list, dice) => setMember(at, `$setElementOrder/${list}`, elementOrder(dice))],
  [
    2,
    (at, list, dice) => setMember(at, `$deleteFromPrimitiveList/${list}`, dice.pick<unknown>([["a"], [1], "a", null])),
  ],
  [1, (at, list, dice) => setMember(at, list, [{ $patch: dice.pick(["replace", "delete", "x"]) }])],
  [
    1,
    (at, list, dice) => setMember(at, list, [{ $patch: "delete", name: dice.pick<unknown>(["main", "x", 1, null]) }]),
  ],
  [1, (at, list) => setMember(at, list, [{ name: "main" }, { name: "main" }, {}, null, "a", ["a"]])],
  [1, (at, _, dice) => setMember(at, dice.pick(["$x", "$setElementOrder", "$setElementOrder/", "$retainkeys"]), [])],
];

function elementOrder(dice: Dice): unknown {
  return dice.pick<unknown>([
    [{ name: "main" }],
    [{ name: "main" }, { name: "main" }],
    [{ name: "x" }],
    [{ containerPort: 80 }],
    ["a", "b"],
    [{}],
    [null],
    [],
    "a",
    null,
  ]);
}

const OPERATIONS: readonly string[] = ["add", "replace", "remove", "test", "move", "copy"];

function jsonPatch({ object, schema, recipe }: PatchOf): unknown {
  const { dice } = recipe;
  if (dice.chance(0.05)) return hostileValue(dice);
  const pointers = pointersOf(object);
  const count = dice.pick([1, 1, 1, 2, 3, 10]);
  return Array.from({ length: count }, () => {
    const operation: JsonObject = { op: dice.chance(0.97) ? dice.pick(OPERATIONS) : hostileValue(dice) };
    const [path, value] = patchedPlace(pointers, schema, recipe);
    operation["path"] = path;
    if (dice.chance(0.95)) operation["value"] = value;
    if (operation["op"] === "move" || operation["op"] === "copy")
      operation["from"] = dice.chance(0.95) ? dice.pick(pointers) : hostileString(dice);
    return operation;
  });
}

function patchedPlace(pointers: readonly string[], schema: StructSchema, recipe: Recipe): [unknown, unknown] {
  const { dice } = recipe;
  const value = hostileValue(dice);
  return dice.weighted<() => [unknown, unknown]>([
    [4, () => schemaPlace(schema, recipe)],
    [4, () => [dice.pick(pointers), value]],
    [
      2,
      () => [`${dice.pick(pointers)}/${dice.pick(["-", "0", "1", "-1", "00", "99999999999", "~2", "", "x"])}`, value],
    ],
    [
      2,
      () => [
        `/metadata/${dice.pick(["labels", "annotations", "finalizers", "managedFields", "ownerReferences"])}`,
        value,
      ],
    ],
    [1, () => [dice.pick<unknown>(["", "/", "a", null, 1, "/metadata/name", "/kind", "/apiVersion"]), value]],
    [1, () => [hostileString(dice), value]],
  ])();
}

/** The path of a random field of the kind, and a value of its type. */
function schemaPlace(schema: StructSchema, recipe: Recipe): [string, unknown] {
  const { dice } = recipe;
  let pointer = "";
  let struct = schema;
  for (;;) {
    const names = [...struct.fields.keys()];
    if (names.length === 0) return [pointer, {}];
    const name = dice.pick(names);
    const field = struct.fields.get(name)!;
    pointer += `/${name}`;
    const next = field.struct ?? field.items?.struct;
    if (next === undefined || dice.chance(0.4)) return [pointer, randomValue(name, field, recipe, 1)];
    if (field.type === "array") pointer += dice.pick(["/0", "/-"]);
    struct = next;
  }
}

function pointersOf(value: unknown, at = "", into: string[] = []): string[] {
  if (at !== "") into.push(at);
  if (into.length > 100) return into;
  if (Array.isArray(value)) value.forEach((item, index) => pointersOf(item, `${at}/${index}`, into));
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value))
      pointersOf(member, `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, into);
  return into;
}
