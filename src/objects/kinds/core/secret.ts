/** Defaults, validation and warnings of Secrets, whose type determines the required keys. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, setMember, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { describeSyntaxError } from "../../json/json-text.ts";
import { immutableErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { dataKeyErrors, dataSizeErrors, decodedBytes, immutableDataErrors, suspiciousKeys } from "./config-map.ts";
import { keyPairWarning } from "./key-pair-warning.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

export const SECRET: Kind = {
  setDefaults: setSecretDefaults,
  createErrors: secretErrors,
  *updateErrors(secret, existing) {
    yield* immutableErrors(secret["type"], existing["type"], "type");
    yield* immutableDataErrors(secret, existing, ["data"]);
    yield* secretErrors(secret);
  },
  *warnings(secret) {
    if (secret["type"] !== "kubernetes.io/tls") return;
    const data = objectAt(secret, "data");
    const warning = keyPairWarning(decoded(data, "tls.crt"), decoded(data, "tls.key"));
    if (warning !== undefined) yield warning;
  },
};

/** Merges the write-only stringData into data; the type defaults to Opaque. */
function setSecretDefaults(secret: JsonObject): void {
  const given = objectAt(secret, "stringData");
  delete secret["stringData"];
  const keys = Object.keys(given);
  if (keys.length > 0) {
    const data: JsonObject = { ...objectAt(secret, "data") };
    for (const key of keys) setMember(data, key, Buffer.from(String(given[key])).toString("base64"));
    secret["data"] = data;
  }
  if (stringAt(secret, "type") === "") secret["type"] = "Opaque";
}

function* secretErrors(secret: JsonObject): Generator<FieldError> {
  const data = objectAt(secret, "data");
  for (const key of suspiciousKeys(data)) yield* dataKeyErrors(key, `data[${key}]`);
  yield* dataSizeErrors("data", decodedBytes(data));
  yield* (TYPE_RULES.get(stringAt(secret, "type")) ?? anything)(data, secret);
}

type TypeRule = (data: JsonObject, secret: JsonObject) => Iterable<FieldError>;

const ACCOUNT_NAME = "kubernetes.io/service-account.name";

const TYPE_RULES: ReadonlyMap<string, TypeRule> = new Map<string, TypeRule>([
  ["kubernetes.io/service-account-token", accountErrors],
  ["kubernetes.io/dockercfg", (data) => jsonDataErrors(data, ".dockercfg")],
  ["kubernetes.io/dockerconfigjson", (data) => jsonDataErrors(data, ".dockerconfigjson")],
  ["kubernetes.io/basic-auth", basicAuthErrors],
  ["kubernetes.io/ssh-auth", (data) => (stringAt(data, "ssh-privatekey") === "" ? [missing("ssh-privatekey")] : [])],
  ["kubernetes.io/tls", (data) => ["tls.crt", "tls.key"].filter((key) => data[key] === undefined).map(missing)],
]);

function anything(): FieldError[] {
  return [];
}

function missing(key: string): FieldError {
  return required(`data[${key}]`);
}

/** A controller adds the token itself, so only the account name is required. */
function* accountErrors(_data: JsonObject, secret: JsonObject): Generator<FieldError> {
  if (stringAt(objectAt(objectAt(secret, "metadata"), "annotations"), ACCOUNT_NAME) === "")
    yield required(`metadata.annotations[${ACCOUNT_NAME}]`);
}

function* basicAuthErrors(data: JsonObject): Generator<FieldError> {
  const keys = ["username", "password"];
  if (keys.every((key) => data[key] === undefined)) yield* keys.map(missing);
}

function* jsonDataErrors(data: JsonObject, key: string): Generator<FieldError> {
  if (data[key] === undefined) {
    yield missing(key);
    return;
  }
  const problem = objectTextProblem(decoded(data, key));
  if (problem !== undefined) yield invalidValue(`data[${key}]`, "<secret contents redacted>", problem);
}

function decoded(data: JsonObject, key: string): Buffer {
  return Buffer.from(stringAt(data, key), "base64");
}

/** Go's error for a text that must be a JSON object; undefined for an object or null. */
function objectTextProblem(text: Buffer): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text.toString("utf8"));
  } catch {
    return describeSyntaxError(text);
  }
  if (value === null || isJsonObject(value)) return undefined;
  return unmarshalError(value, "value of type map[string]interface {}");
}
