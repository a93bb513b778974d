/** Values as Go's JSON shows kubernetes' internal types, which have no JSON names: every member, in its own order. */
import { isJsonObject, jsonEquals, setMember } from "../../../meta/json.ts";
import { canonicalQuantity, nanosOf } from "../../../meta/quantity.ts";

/** `any` is shown as it is, and as null when it is absent: what a pointer or a list of strings needs. */
export type GoType =
  | "string"
  | "number"
  | "boolean"
  | "any"
  | "quantity"
  | { readonly list: GoType }
  | { readonly map: GoType }
  | { readonly struct: readonly GoField[]; readonly isPointer?: true }
  /** Members that are absent are left out, but for those that Go always writes. */
  | { readonly tagged: readonly GoField[]; readonly always?: readonly string[] };

/** Its name in Go, its name in the API, its type. */
export type GoField = readonly [name: string, key: string, type: GoType];

export function goValue(value: unknown, type: GoType): unknown {
  switch (type) {
    case "string":
      return value ?? "";
    case "number":
      return value ?? 0;
    case "boolean":
      return value ?? false;
    case "any":
      return value ?? null;
    case "quantity":
      return canonicalQuantity(String(value ?? "0"));
    default:
      return goComposite(value, type);
  }
}

function goComposite(value: unknown, type: Exclude<GoType, string>): unknown {
  if ("list" in type) return Array.isArray(value) ? value.map((item) => goValue(item, type.list)) : null;
  if ("map" in type) return isJsonObject(value) ? sortedMap(value, (item) => goValue(item, type.map)) : null;
  const members = isJsonObject(value) ? value : {};
  if ("tagged" in type) {
    if (!isJsonObject(value)) return null;
    const present = type.tagged.filter(([, key]) => members[key] !== undefined || type.always?.includes(key));
    return Object.fromEntries(present.map(([name, key, member]) => [name, goValue(members[key], member)]));
  }
  if (type.isPointer === true && !isJsonObject(value)) return null;
  return Object.fromEntries(type.struct.map(([name, key, member]) => [name, goValue(members[key], member)]));
}

function sortedMap(value: Record<string, unknown>, show: (item: unknown) => unknown): Record<string, unknown> {
  const sorted: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) setMember(sorted, key, show(value[key]));
  return sorted;
}

/** As kubernetes Semantic.DeepEqual: quantities by their amount, and empty lists and maps like absent ones. */
export function isSemanticallyEqual(left: unknown, right: unknown, type: GoType): boolean {
  return jsonEquals(comparable(left, type), comparable(right, type));
}

function comparable(value: unknown, type: GoType): unknown {
  if (type === "quantity") return nanosOf(value).toString();
  if (type === "any") return Array.isArray(value) && value.length === 0 ? null : (value ?? null);
  if (typeof type === "string") return goValue(value, type);
  if ("list" in type)
    return Array.isArray(value) && value.length > 0 ? value.map((item) => comparable(item, type.list)) : null;
  if ("map" in type) {
    if (!isJsonObject(value) || Object.keys(value).length === 0) return null;
    return sortedMap(value, (item) => comparable(item, type.map));
  }
  if (!isJsonObject(value) && ("tagged" in type || type.isPointer === true)) return null;
  const members = isJsonObject(value) ? value : {};
  const fields = "tagged" in type ? type.tagged : type.struct;
  return Object.fromEntries(fields.map(([name, key, member]) => [name, comparable(members[key], member)]));
}

const ESCAPED = /[<>&\u2028\u2029]/g;

/** The lines of Go's MarshalIndent with one space. */
export function goPrettyLines(value: unknown): string[] {
  return (JSON.stringify(value, null, 1) ?? "null")
    .replace(ESCAPED, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .split("\n");
}

/** A metav1.LabelSelector, whose type does have JSON names. */
export const LABEL_SELECTOR: GoType = {
  tagged: [
    ["matchLabels", "matchLabels", { map: "string" }],
    [
      "matchExpressions",
      "matchExpressions",
      {
        list: {
          always: ["key", "operator"],
          tagged: [
            ["key", "key", "string"],
            ["operator", "operator", "string"],
            ["values", "values", "any"],
          ],
        },
      },
    ],
  ],
};

/** Of pods to nodes, and of claims to devices. */
export const TOLERATION: GoType = {
  struct: [
    ["Key", "key", "string"],
    ["Operator", "operator", "string"],
    ["Value", "value", "string"],
    ["Effect", "effect", "string"],
    ["TolerationSeconds", "tolerationSeconds", "any"],
  ],
};
