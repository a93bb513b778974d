/** A part of a pod's spec as kube-apiserver's errors show it: with the names of its own types, nothing left out. */
import { isJsonObject, objectAt, type JsonObject } from "../../../../meta/json.ts";
import { objectsAt } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { INTERNAL_TYPES, MEMBER_GATES } from "./internal-types.ts";

const MEMBER = /^(?<name>\w+)(?:=(?<member>\w+))?(?::(?<shape>.+))?$/;
const HOST_MEMBERS = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] as const;

export function internalJson(type: string, value: JsonObject, context: KindContext): JsonObject {
  const shown: JsonObject = {};
  for (const text of (INTERNAL_TYPES[type] ?? "").split(" ")) {
    const { name = "", member, shape = "" } = MEMBER.exec(text)?.groups ?? {};
    const gate = MEMBER_GATES.get(`${type}.${name}`);
    if (name === "" || (gate !== undefined && !context.gates.isOn(gate))) continue;
    if (shape === "^") Object.assign(shown, internalJson(name, value, context));
    else if (shape === "M") Object.assign(shown, value["metadata"]);
    else shown[name] = shownMember(value[member ?? lowerFirst(name)], shape, context);
  }
  return shown;
}

function shownMember(value: unknown, shape: string, context: KindContext): unknown {
  switch (shape) {
    case "":
      return value ?? "";
    case "b":
      return value ?? false;
    case "n":
      return value ?? 0;
    case "q":
      return value ?? "0";
    case "*":
      return isEmptyContainer(value) ? null : sortedKeys(value);
    case "L":
      return isJsonObject(value) ? labelSelector(value) : null;
    default:
      return shownStruct(value, shape, context);
  }
}

function shownStruct(value: unknown, shape: string, context: KindContext): unknown {
  if (shape.startsWith("[]")) {
    if (!Array.isArray(value) || value.length === 0) return null;
    return value.filter(isJsonObject).map((item) => internalJson(shape.slice(2), item, context));
  }
  if (!shape.startsWith("*")) return internalJson(shape, isJsonObject(value) ? value : {}, context);
  return isJsonObject(value) ? internalJson(shape.slice(1), value, context) : null;
}

function isEmptyContainer(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

function sortedKeys(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function labelSelector(selector: JsonObject): JsonObject {
  const labels = objectAt(selector, "matchLabels");
  const expressions = objectsAt(selector, "matchExpressions").map(({ key, operator, values }) => ({
    key: key ?? "",
    operator: operator ?? "",
    ...(isEmptyContainer(values) ? {} : { values }),
  }));
  return {
    ...(Object.keys(labels).length === 0 ? {} : { matchLabels: sortedKeys(labels) }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  };
}

function lowerFirst(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** A whole spec: what v1 says of the host beside the security context stands in it. */
export function internalPodSpec(spec: JsonObject, context: KindContext): JsonObject {
  const security = spec["securityContext"];
  const host = Object.fromEntries(HOST_MEMBERS.map((name) => [name, spec[name]]));
  const whole = isJsonObject(security) ? { ...spec, securityContext: { ...security, ...host } } : spec;
  return internalJson("PodSpec", whole, context);
}

/** As Go prints JSON with an indent of one. */
export function goJsonLines(value: unknown): string[] {
  const text = JSON.stringify(value, undefined, 1).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return text.split("\n");
}
