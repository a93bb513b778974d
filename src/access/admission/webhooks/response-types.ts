/** Checks the types of the fields of an AdmissionReview. The messages are those of kubernetes' decoder. Pure. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { base64Error } from "../../../objects/go/go-text.ts";
import type { ReviewVersion } from "../../webhook-client/webhook-client.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

interface Field {
  readonly is: "string" | "boolean" | "int32" | "int64" | "bytes" | "struct" | "map" | "strings" | "structs";
  /** The Go type of the field, for the message. */
  readonly go: string;
  readonly struct?: Struct;
}

interface Struct {
  readonly name: string;
  readonly fields: Readonly<Record<string, Field>>;
}

const text = (go = "string"): Field => ({ is: "string", go });

const LIST_META: Struct = {
  name: "ListMeta",
  fields: {
    selfLink: text(),
    resourceVersion: text(),
    continue: text(),
    remainingItemCount: { is: "int64", go: "int64" },
  },
};

const CAUSE: Struct = {
  name: "StatusCause",
  fields: { reason: text("v1.CauseType"), message: text(), field: text() },
};

const DETAILS: Struct = {
  name: "StatusDetails",
  fields: {
    name: text(),
    group: text(),
    kind: text(),
    uid: text("types.UID"),
    causes: { is: "structs", go: "[]v1.StatusCause", struct: CAUSE },
    retryAfterSeconds: { is: "int32", go: "int32" },
  },
};

const STATUS: Struct = {
  name: "Status",
  fields: {
    kind: text(),
    apiVersion: text(),
    metadata: { is: "struct", go: "v1.ListMeta", struct: LIST_META },
    status: text(),
    message: text(),
    reason: text("v1.StatusReason"),
    details: { is: "struct", go: "v1.StatusDetails", struct: DETAILS },
    code: { is: "int32", go: "int32" },
  },
};

function reviewStruct(version: ReviewVersion): Struct {
  const response: Struct = {
    name: "AdmissionResponse",
    fields: {
      uid: text("types.UID"),
      allowed: { is: "boolean", go: "bool" },
      status: { is: "struct", go: "v1.Status", struct: STATUS },
      patch: { is: "bytes", go: "[]uint8" },
      patchType: text(`${version}.PatchType`),
      auditAnnotations: { is: "map", go: "map[string]string" },
      warnings: { is: "strings", go: "[]string" },
    },
  };
  return {
    name: "AdmissionReview",
    fields: { response: { is: "struct", go: `${version}.AdmissionResponse`, struct: response } },
  };
}

/** The message about the first field with a wrong type; undefined if all types are right. */
export function typeProblem(review: JsonObject, version: ReviewVersion): string | undefined {
  return structProblem(review, reviewStruct(version), "");
}

function structProblem(value: JsonObject, struct: Struct, path: string): string | undefined {
  for (const [name, field] of Object.entries(struct.fields)) {
    const member = value[name];
    if (member === undefined || member === null) continue;
    const problem = fieldProblem(member, field, { owner: struct.name, path: path === "" ? name : `${path}.${name}` });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

interface Place {
  readonly owner: string;
  readonly path: string;
}

function fieldProblem(value: unknown, field: Field, place: Place): string | undefined {
  switch (field.is) {
    case "bytes":
      return typeof value === "string" ? base64Error(value) : mismatch(value, field.go, place);
    case "struct":
      if (!isJsonObject(value)) return mismatch(value, field.go, place);
      return field.struct && structProblem(value, field.struct, place.path);
    case "map":
      return isJsonObject(value) ? textsProblem(Object.values(value), place) : mismatch(value, field.go, place);
    case "strings":
      return Array.isArray(value) ? textsProblem(value, place) : mismatch(value, field.go, place);
    case "structs":
      return Array.isArray(value) ? itemsProblem(value, field, place) : mismatch(value, field.go, place);
    case "int32":
    case "int64":
      return isWhole(value, field.is) ? undefined : mismatch(value, field.go, place, true);
    default:
      return typeof value === field.is ? undefined : mismatch(value, field.go, place);
  }
}

function textsProblem(values: readonly unknown[], place: Place): string | undefined {
  const wrong = values.find((value) => typeof value !== "string" && value !== null);
  return wrong === undefined ? undefined : mismatch(wrong, "string", place);
}

function itemsProblem(values: readonly unknown[], { go, struct }: Field, place: Place): string | undefined {
  for (const value of values) {
    if (value === null) continue;
    if (!isJsonObject(value)) return mismatch(value, go.slice("[]".length), place);
    const problem = struct && structProblem(value, struct, place.path);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isWhole(value: unknown, width: "int32" | "int64"): boolean {
  if (typeof value !== "number" || !Number.isInteger(value)) return false;
  return width === "int64" || (value >= -2147483648 && value <= 2147483647);
}

function mismatch(value: unknown, go: string, { owner, path }: Place, showsNumber = false): string {
  return unmarshalError(value, `struct field ${owner}.${path} of type ${go}`, showsNumber);
}
