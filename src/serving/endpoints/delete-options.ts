/**
 * Decodes the DeleteOptions in the body of a DELETE. A value of a wrong type is rejected: ignoring an invalid
 * precondition would delete an object that must be kept.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { badRequest } from "../../meta/status-error.ts";
import { unmarshalError } from "../../meta/go-fmt.ts";
import { notAnObject, typeMetaError } from "./decode-body.ts";

/** The option with which a client deletes an object that cannot be read. */
export const UNSAFE_DELETION = "ignoreStoreReadErrorWithClusterBreakingPotential";

interface OptionType {
  readonly goType: string;
  readonly isRight: (value: unknown) => boolean;
}

const TEXT: OptionType = { goType: "string", isRight: (value) => typeof value === "string" };

const MEMBERS: ReadonlyMap<string, OptionType> = new Map([
  ["gracePeriodSeconds", { goType: "int64", isRight: Number.isSafeInteger }],
  ["orphanDependents", { goType: "bool", isRight: isBoolean }],
  ["propagationPolicy", { ...TEXT, goType: "v1.DeletionPropagation" }],
  ["dryRun", { goType: "[]string", isRight: Array.isArray }],
  ["preconditions", { goType: "v1.Preconditions", isRight: isJsonObject }],
  [UNSAFE_DELETION, { goType: "bool", isRight: isBoolean }],
]);

const PRECONDITIONS: ReadonlyMap<string, OptionType> = new Map([
  ["uid", { ...TEXT, goType: "types.UID" }],
  ["resourceVersion", TEXT],
]);

export function checkedDeleteOptions(value: unknown): JsonObject {
  // As Go: null decodes to empty options.
  const body = value ?? {};
  if (!isJsonObject(body)) throw badRequest(notAnObject(body));
  const why = typeMetaError(body) ?? kindError(body) ?? typeError(body);
  if (why !== undefined) throw badRequest(why);
  return body;
}

function kindError({ kind, apiVersion }: JsonObject): string | undefined {
  if (typeof kind !== "string" || kind === "" || kind === "DeleteOptions") return undefined;
  const version = typeof apiVersion === "string" && apiVersion !== "" ? apiVersion : "meta.k8s.io/v1";
  return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(version)} in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"`;
}

function typeError(body: JsonObject): string | undefined {
  for (const [name, value] of Object.entries(body)) {
    const why =
      memberError(value, MEMBERS.get(name), `DeleteOptions.${name}`) ??
      (name === "dryRun" ? itemError(value) : name === "preconditions" ? preconditionError(value) : undefined);
    if (why !== undefined) return why;
  }
  return undefined;
}

function itemError(list: unknown): string | undefined {
  const itemErrors = (Array.isArray(list) ? list : []).map((item) => memberError(item, TEXT, "DeleteOptions.dryRun"));
  return itemErrors.find((why) => why !== undefined);
}

function preconditionError(preconditions: unknown): string | undefined {
  if (!isJsonObject(preconditions)) return undefined;
  for (const [name, value] of Object.entries(preconditions)) {
    const why = memberError(value, PRECONDITIONS.get(name), `Preconditions.preconditions.${name}`);
    if (why !== undefined) return why;
  }
  return undefined;
}

function memberError(value: unknown, type: OptionType | undefined, field: string): string | undefined {
  if (type === undefined || value === null || value === undefined || type.isRight(value)) return undefined;
  return unmarshalError(value, `struct field ${field} of type ${type.goType}`, type.goType === "int64");
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}
