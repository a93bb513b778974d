/**
 * Converts objects to kube-apiserver's internal types. Error messages show objects in this form: the internal types
 * have no JSON names, and Go writes every field. Kubernetes also compares this form to decide whether a field has
 * changed.
 */
import { sortedMap } from "../../../meta/go-json.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity, nanosOf } from "../../../meta/quantity.ts";
import type { ReleaseGate, ReleaseGates } from "../../release-gates.ts";
import { INTERNAL_TYPES, MEMBER_GATES, type InternalType } from "./internal-types.ts";

/** A type, a pointer to a type, a list of a type, or one of the shapes that internal-types.ts explains. */
type Shape = InternalType | `*${InternalType}` | `[]${InternalType}` | "*" | "L" | "{}q";

interface Member {
  readonly name: string;
  readonly key: string;
  readonly shape: string;
  /** The gate of the releases that have the field; undefined if every release has it. */
  readonly gate: ReleaseGate | undefined;
}

const MEMBER = /^(?<name>\w+)(?:=(?<key>[$\w-]+))?(?::(?<shape>.+))?$/;
const MEMBERS: ReadonlyMap<string, readonly Member[]> = new Map(
  Object.entries(INTERNAL_TYPES).map(([type, text]) => [
    type,
    text === "" ? [] : text.split(" ").map((member) => memberOf(type, member)),
  ]),
);

function memberOf(type: string, text: string): Member {
  const { name = "", key, shape = "" } = MEMBER.exec(text)?.groups ?? {};
  return {
    name,
    key: key ?? name.charAt(0).toLowerCase() + name.slice(1),
    shape,
    gate: MEMBER_GATES.get(`${type}.${name}`),
  };
}

interface Mode extends Release {
  /**
   * True to compare values instead of showing them: quantities are equal by value, and an empty list or map equals an
   * absent one.
   */
  readonly isCompared: boolean;
}

/** Without gates, fields that some releases lack are left out. */
interface Release {
  readonly gates: Pick<ReleaseGates, "isOn">;
}
const NO_GATES: Release = { gates: { isOn: () => false } };

export function internalValue(value: unknown, shape: Shape, { gates }: Release = NO_GATES): unknown {
  return shown(value, shape, { gates, isCompared: false });
}

/** Whether two values are equal by Kubernetes' Semantic.DeepEqual. */
export function isSameInternal(left: unknown, right: unknown, shape: Shape, { gates }: Release = NO_GATES): boolean {
  const mode: Mode = { gates, isCompared: true };
  return jsonEquals(shown(left, shape, mode), shown(right, shape, mode));
}

function shown(value: unknown, shape: string, mode: Mode): unknown {
  switch (shape) {
    case "":
      return value ?? "";
    case "b":
      return value ?? false;
    case "n":
      return value ?? 0;
    case "q":
      return amount(value, mode);
    case "{}q":
      return isAbsent(value, mode) || !isJsonObject(value) ? null : sortedMap(value, (item) => amount(item, mode));
    case "*":
      if (isAbsent(value, mode)) return null;
      return isJsonObject(value) ? sortedMap(value) : value;
    case "?":
      return value ?? null;
    case "L":
      return isJsonObject(value) ? labelSelector(value) : null;
    default:
      return composite(value, shape, mode);
  }
}

function composite(value: unknown, shape: string, mode: Mode): unknown {
  if (shape.startsWith("[]")) {
    if (!Array.isArray(value) || isAbsent(value, mode)) return null;
    return value.filter(isJsonObject).map((item) => struct(item, shape.slice(2), mode));
  }
  if (!shape.startsWith("*")) return struct(isJsonObject(value) ? value : {}, shape, mode);
  return isJsonObject(value) ? struct(value, shape.slice(1), mode) : null;
}

function struct(given: JsonObject, type: string, mode: Mode): JsonObject {
  const value = type === "PodSpec" ? withHostMembers(given) : given;
  const result: JsonObject = {};
  for (const { name, key, shape, gate } of MEMBERS.get(type) ?? []) {
    if (gate !== undefined && !mode.gates.isOn(gate)) continue;
    if (shape === "^") Object.assign(result, struct(value, name, mode));
    else if (shape === "M") Object.assign(result, metadata(objectAt(value, "metadata")));
    else result[name] = shown(value[key], shape, mode);
  }
  return result;
}

function amount(value: unknown, { isCompared }: Mode): string {
  return isCompared ? nanosOf(value).toString() : canonicalQuantity(String(value ?? "0"));
}

function isAbsent(value: unknown, { isCompared }: Mode): boolean {
  return value === undefined || value === null || (isCompared && isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isJsonObject(value) && Object.keys(value).length === 0;
}

/** Shows a metav1.LabelSelector. It has JSON names, so that Go omits its empty fields. */
function labelSelector(selector: JsonObject): JsonObject {
  const labels = objectAt(selector, "matchLabels");
  const expressions = objectsAt(selector, "matchExpressions").map(({ key, operator, values }) => ({
    key: key ?? "",
    operator: operator ?? "",
    ...(values === undefined || values === null || isEmpty(values) ? {} : { values }),
  }));
  return {
    ...(isEmpty(labels) ? {} : { matchLabels: sortedMap(labels) }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  };
}

const METADATA: readonly string[] = ["name", "generateName", "namespace", "labels", "annotations", "finalizers"];

/** Shows a metav1.ObjectMeta. It has JSON names, so that Go omits its empty fields. */
function metadata(given: JsonObject): JsonObject {
  const result: JsonObject = {};
  for (const member of METADATA) {
    const value = given[member] ?? "";
    if (value !== "" && !isEmpty(value)) result[member] = isJsonObject(value) ? sortedMap(value) : value;
  }
  return result;
}

const HOST_MEMBERS = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"] as const;

/** Moves the host fields of the spec to the security context, where the internal type has them. */
function withHostMembers(spec: JsonObject): JsonObject {
  const security = spec["securityContext"];
  if (!isJsonObject(security)) return spec;
  const host = Object.fromEntries(HOST_MEMBERS.map((name) => [name, spec[name]]));
  return { ...spec, securityContext: { ...security, ...host } };
}
