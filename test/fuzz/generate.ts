/**
 * Generates random values of a schema: structs with some of their fields. Most values are likely ones, some are
 * hostile.
 */
import { modelName } from "../../src/objects/catalog/schema-source.ts";
import { type JsonObject, setMember } from "../../src/meta/json.ts";
import type { FieldSchema, StructSchema } from "../../src/objects/schema.ts";
import type { Dice } from "./dice.ts";
import {
  HOSTILE_KEYS,
  hostileAddress,
  hostileNumber,
  hostileQuantity,
  hostileString,
  hostileTime,
  hostileValue,
  longString,
} from "./hostile-values.ts";
import { likelyInteger, likelyKey, likelyQuantity, likelyString, likelyTime } from "./likely-values.ts";

const DEPTH_MAX = 10;

export interface Recipe {
  readonly dice: Dice;
  /** Probability that a value is hostile; 0 for objects that a server should accept. */
  readonly hostility: number;
  /** Number of fields that may still be added. It bounds the recursion. */
  fieldsLeft: number;
}

export function randomStruct(struct: StructSchema, recipe: Recipe, depth = 0): JsonObject {
  const object: JsonObject = {};
  const names = [...struct.fields.keys()];
  const { dice } = recipe;
  for (const [name, field] of struct.fields)
    if (field.required && !isHit(recipe)) setMember(object, name, randomValue(name, field, recipe, depth + 1));
  const optional = Math.min(names.length, dice.int(4));
  for (let added = 0; added < optional && recipe.fieldsLeft > 0 && depth < DEPTH_MAX; added++) {
    const name = dice.pick(names);
    if (Object.hasOwn(object, name)) continue;
    recipe.fieldsLeft--;
    setMember(object, name, randomValue(name, struct.fields.get(name)!, recipe, depth + 1));
  }
  return object;
}

export function randomValue(name: string, field: FieldSchema, recipe: Recipe, depth: number): unknown {
  const { dice } = recipe;
  if (isHit(recipe)) return dice.chance(0.5) ? hostileOf(name, field, dice) : hostileValue(dice);
  if (field.enum !== undefined && field.enum.length > 0) return dice.pick(field.enum);
  if (field.intOrString) return dice.pick([80, "25%", "http", 1]);
  if (field.quantity) return likelyQuantity(dice);
  switch (field.type) {
    case "string":
      return randomString(name, field, dice);
    case "integer":
      return likelyInteger(name, dice);
    case "number":
      return dice.pick([0, 0.5, 1]);
    case "boolean":
      return dice.chance(0.5);
    case "struct":
      return field.struct === undefined || depth > DEPTH_MAX ? {} : randomStruct(field.struct, recipe, depth);
    case "map":
      return randomMap(name, field, recipe, depth);
    case "array":
      return Array.from({ length: dice.pick([1, 1, 1, 2, 3]) }, () =>
        field.items === undefined ? "a" : randomValue(name, field.items, recipe, depth + 1),
      );
    default:
      return dice.pick<unknown>(["a", 1, { a: 1 }, [], true]);
  }
}

function isHit({ dice, hostility }: Recipe): boolean {
  return hostility > 0 && dice.chance(hostility);
}

function randomString(name: string, field: FieldSchema, dice: Dice): string {
  if (field.format === "date-time") return likelyTime(dice, modelName(field)?.endsWith("MicroTime") === true);
  if (field.format === "byte") return dice.pick(["", "YQ==", "AAECAw=="]);
  return likelyString(name, dice);
}

function randomMap(name: string, field: FieldSchema, recipe: Recipe, depth: number): JsonObject {
  const map: JsonObject = {};
  const size = recipe.dice.pick([1, 1, 2]);
  for (let index = 0; index < size; index++) {
    const key = isHit(recipe) ? hostileKey(recipe.dice) : likelyKey(recipe.dice);
    setMember(map, key, field.items === undefined ? "a" : randomValue(name, field.items, recipe, depth + 1));
  }
  return map;
}

export function hostileKey(dice: Dice): string {
  return dice.chance(0.7) ? dice.pick(HOSTILE_KEYS) : longString(dice);
}

/** A hostile value, if possible of the field's type, so that the server can decode it and validates it. */
export function hostileOf(name: string, field: FieldSchema, dice: Dice): unknown {
  if (field.quantity) return hostileQuantity(dice);
  if (field.intOrString) return dice.chance(0.5) ? hostileString(dice) : hostileNumber(dice);
  if (field.format === "date-time") return hostileTime(dice);
  if (field.format === "byte") return dice.pick(["!", "YQ", "YQ=", "YQ==\n", "_-_-", "=", "AAAA".repeat(300)]);
  switch (field.type) {
    case "string":
      return /ip|address|cidr/i.test(name) ? hostileAddress(dice) : hostileString(dice);
    case "integer":
    case "number":
      return hostileNumber(dice);
    case "map":
      return { [dice.pick(["a", "b"])]: hostileValue(dice), [hostileKey(dice)]: "a" };
    case "array":
      return Array.from({ length: dice.pick([0, 1, 2, 100]) }, () => dice.pick<unknown>([null, {}, "a", 0]));
    default:
      return hostileValue(dice);
  }
}
