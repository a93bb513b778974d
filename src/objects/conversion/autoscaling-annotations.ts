/**
 * Encodes and decodes the annotations in which autoscaling/v1 stores fields of later versions, in kube-apiserver's
 * format.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { presentMembers } from "./members.ts";
import { goJson } from "../../meta/go-json.ts";

/** Users can write these annotations, so text that nests deeper than any metric is ignored. */
const ANNOTATION_DEPTH_MAX = 32;

/** The JSON text of the list; undefined for an empty list, which needs no annotation. */
export function encodeAnnotation(list: readonly JsonObject[]): string | undefined {
  return list.length === 0 ? undefined : goJson(list);
}

/** The list that the text encodes; undefined if the text is not a list of objects. */
export function decodeAnnotation(text: unknown): JsonObject[] | undefined {
  const list = parseAnnotation(text);
  return Array.isArray(list) && list.every(isJsonObject) ? list : undefined;
}

/**
 * Fields that the annotation encodes under Go's field names (ScaleUp), because kube-apiserver encodes its internal
 * type, which has no JSON tags. For the same reason they are written even if they are empty.
 */
const BEHAVIOR_NAMES: readonly string[] = Object.freeze(["scaleUp", "scaleDown"]);
const RULES_NAMES: readonly string[] = Object.freeze([
  "stabilizationWindowSeconds",
  "selectPolicy",
  "policies",
  "tolerance",
]);
const POLICY_NAMES: readonly string[] = Object.freeze(["type", "value", "periodSeconds"]);

export function encodeBehavior(behavior: unknown): string | undefined {
  if (!isJsonObject(behavior)) return undefined;
  return goJson(capitalize(behavior, BEHAVIOR_NAMES, (rules) => capitalize(rules, RULES_NAMES, encodePolicies)));
}

function encodePolicies(policies: unknown): unknown {
  if (!Array.isArray(policies)) return policies;
  return policies.map((policy: unknown) => capitalize(policy, POLICY_NAMES, (value) => value));
}

function capitalize(value: unknown, names: readonly string[], encode: (member: unknown) => unknown): unknown {
  if (!isJsonObject(value)) return value;
  const known = names.map((name) => [name, value[name] ?? null] as const);
  const unknown = Object.entries(value).filter(([name]) => !names.includes(name));
  return Object.fromEntries([...known, ...unknown].map(([name, member]) => [upperFirst(name), encode(member)]));
}

/** The behavior that the text encodes; undefined if it is empty or invalid. */
export function decodeBehavior(text: unknown): JsonObject | undefined {
  const behavior = parseAnnotation(text);
  if (!isJsonObject(behavior)) return undefined;
  const decoded = decapitalize(behavior) as JsonObject;
  return Object.keys(decoded).length === 0 ? undefined : decoded;
}

function decapitalize(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decapitalize);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(presentMembers(value));
  return Object.fromEntries(entries.map(([name, member]) => [lowerFirst(name), decapitalize(member)]));
}

function upperFirst(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function lowerFirst(name: string): string {
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/** Invalid text counts as absent, as in kube-apiserver. */
function parseAnnotation(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isDeeperThan(value, ANNOTATION_DEPTH_MAX) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((member) => isDeeperThan(member, depth - 1));
}
