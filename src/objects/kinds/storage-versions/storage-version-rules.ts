/** Validation of StorageVersions, with Kubernetes' messages. */
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { duplicateValue, firstErrors, invalidValue, required } from "../../../meta/field-errors.ts";
import { apiVersionErrors } from "./api-version.ts";

/**
 * Limits the length of the list of decodable versions in an error, because each served version that is missing from the
 * list repeats it.
 */
const LIST_CHARACTERS_MAX = 1024;

/** The name must be `<group>.<resource>`, separated by the last dot. */
export function storageVersionNameErrors(name: string): string[] {
  const dot = name.lastIndexOf(".");
  if (dot < 0) return ["name must be in the form of <group>.<resource>"];
  return [
    ...dnsSubdomainErrors(name.slice(0, dot)).map((sentence) => `the group segment ${sentence}`),
    ...dns1035LabelErrors(name.slice(dot + 1)).map((sentence) => `the resource segment ${sentence}`),
  ];
}

/** As kubernetes: generateName must be a valid name itself. */
export function storageVersionErrors(object: JsonObject): FieldError[] {
  const metadata = objectAt(object, "metadata");
  return ["generateName", "name"].flatMap((key) => {
    const name = stringAt(metadata, key);
    // The rules that all kinds share report a missing name.
    if (name === "") return [];
    return storageVersionNameErrors(name).map((sentence) => invalidValue(`metadata.${key}`, name, sentence));
  });
}

export function storageVersionStatusErrors(object: JsonObject): FieldError[] {
  return firstErrors(statusErrors(objectAt(object, "status")));
}

function* statusErrors(status: JsonObject): Generator<FieldError> {
  const entries = objectsAt(status, "storageVersions");
  const ids = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const field = `status.storageVersions[${index}]`;
    const id = stringAt(entry, "apiServerID");
    if (ids.has(id)) yield duplicateValue(`${field}.apiServerID`, id);
    ids.add(id);
    yield* entryErrors(entry, field);
  }
  yield* commonVersionErrors(status, entries);
  yield* conditionErrors(objectsAt(status, "conditions"));
}

function* entryErrors(entry: JsonObject, field: string): Generator<FieldError> {
  const id = stringAt(entry, "apiServerID");
  for (const sentence of dnsSubdomainErrors(id)) yield invalidValue(`${field}.apiServerID`, id, sentence);
  const encoding = stringAt(entry, "encodingVersion");
  yield* versionErrors(`${field}.encodingVersion`, encoding);

  const decodable = stringsAt(entry, "decodableVersions");
  for (const [index, version] of decodable.entries())
    yield* versionErrors(`${field}.decodableVersions[${index}]`, version);
  const isDecodable = new Set(decodable);
  if (!isDecodable.has(encoding))
    yield invalidValue(
      `${field}.decodableVersions`,
      entry["decodableVersions"] ?? null,
      `decodableVersions must include encodingVersion ${encoding}`,
    );

  const list = goList(decodable);
  for (const [index, version] of stringsAt(entry, "servedVersions").entries()) {
    const servedField = `${field}.servedVersions[${index}]`;
    yield* versionErrors(servedField, version);
    if (isDecodable.has(version)) continue;
    const why = `individual served version : ${version} must be included in decodableVersions : ${list}`;
    yield invalidValue(servedField, version, why);
  }
}

function* versionErrors(field: string, version: string): Generator<FieldError> {
  const sentences = apiVersionErrors(version);
  if (sentences.length > 0) yield invalidValue(field, version, sentences.join(","));
}

function* commonVersionErrors(status: JsonObject, entries: readonly JsonObject[]): Generator<FieldError> {
  const field = "status.commonEncodingVersion";
  const given = status["commonEncodingVersion"] ?? null;
  const [actual, another] = new Set(entries.map((entry) => stringAt(entry, "encodingVersion")));
  if (actual === undefined || another !== undefined) {
    const why =
      "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
    if (given !== null) yield invalidValue(field, given, why);
  } else if (given === null) {
    // DIFFERS: kubernetes requires the common version as soon as the entries agree. A live server that has not
    // published its entry yet may encode another version; while the condition is Unknown for this reason, no common
    // version is required.
    if (!isUnknown(status)) yield invalidValue(field, null, `the common encoding version is ${actual}`);
  } else if (given !== actual) {
    yield invalidValue(field, given, `the actual common encoding version is ${actual}`);
  }
}

function isUnknown(status: JsonObject): boolean {
  const condition = objectsAt(status, "conditions").find(({ type }) => type === "AllEncodingVersionsEqual");
  return condition?.["status"] === "Unknown";
}

/** As kubernetes: accepts unknown types and statuses of conditions, and omits `conditions` from the paths in errors. */
function* conditionErrors(conditions: readonly JsonObject[]): Generator<FieldError> {
  const seen = new Map<string, number>();
  for (const [index, condition] of conditions.entries()) {
    const field = `status[${index}]`;
    const type = stringAt(condition, "type");
    const before = seen.get(type);
    if (before !== undefined) {
      const why = `the type of the condition is not unique, it also appears in conditions[${before}]`;
      yield invalidValue(`${field}.type`, type, why);
    }
    seen.set(type, index);
    for (const key of ["type", "status"]) {
      const value = stringAt(condition, key);
      for (const sentence of qualifiedNameErrors(value)) yield invalidValue(`${field}.${key}`, value, sentence);
    }
    for (const key of ["reason", "message"]) if (stringAt(condition, key) === "") yield required(`${field}.${key}`);
  }
}

/** The list as Go prints a list of strings. */
function goList(texts: readonly string[]): string {
  const list = texts.join(" ");
  return list.length > LIST_CHARACTERS_MAX ? `[${list.slice(0, LIST_CHARACTERS_MAX)}...]` : `[${list}]`;
}
