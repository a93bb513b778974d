/** Definitions of custom resources: names, scope and versions; what schemas say is not looked at. */
import { invalidValue, required } from "../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { enumErrors, immutableErrors, objectsAt } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { conditionsOf, isTrue } from "../storage-versions/conditions.ts";
import { ownPointer, ownStruct, setEmpty, setMissing, setMissingInItems } from "../storage/defaults.ts";
import { goValue, type GoType } from "../storage/go-value.ts";
import { schemaErrors } from "./definition-schema-rules.ts";

export const CUSTOM_RESOURCE_DEFINITION: Kind = {
  setDefaults(definition) {
    const spec = ownStruct(definition, "spec");
    const names = ownStruct(spec, "names");
    const kind = stringAt(names, "kind");
    if (kind !== "") setEmpty(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
    setMissing(spec, { conversion: { strategy: "None" } });
    const webhook = ownPointer(ownStruct(spec, "conversion"), "webhook");
    const client = webhook === undefined ? undefined : ownPointer(webhook, "clientConfig");
    const service = client === undefined ? undefined : ownPointer(client, "service");
    if (service !== undefined) setMissing(service, { port: 443 });
    setMissingInItems(spec, "versions", { name: "", served: false, storage: false });
    setStatusDefaults(definition);
  },
  prepareCreate(definition) {
    definition["status"] = {};
    setStatusDefaults(definition);
  },
  prepareUpdate(definition) {
    const storage = storageVersionOf(definition);
    const status = ownStruct(definition, "status");
    const stored = stringsAt(status, "storedVersions");
    if (storage !== undefined && !stored.includes(storage)) status["storedVersions"] = [...stored, storage];
  },
  *createErrors(definition) {
    yield* definitionNameErrors(definition);
    yield* specErrors(objectAt(definition, "spec"), true);
    yield* storedVersionErrors(definition);
  },
  updateErrors: definitionUpdateErrors,
};

/** What it is known by does not change, and once it is served neither does what is served. */
function* definitionUpdateErrors(definition: JsonObject, existing: JsonObject): Generator<FieldError> {
  const spec = objectAt(definition, "spec");
  const before = objectAt(existing, "spec");
  yield* specErrors(spec, !hasSchemaErrors(before));
  const names = objectAt(spec, "names");
  const namesBefore = objectAt(before, "names");
  if (isTrue(conditionsOf(objectAt(existing, "status")), "Established")) {
    yield* immutableErrors(stringAt(spec, "scope"), stringAt(before, "scope"), "spec.scope");
    yield* immutableErrors(stringAt(names, "kind"), stringAt(namesBefore, "kind"), "spec.names.kind");
  }
  yield* immutableErrors(stringAt(spec, "group"), stringAt(before, "group"), "spec.group");
  yield* immutableErrors(stringAt(names, "plural"), stringAt(namesBefore, "plural"), "spec.names.plural");
  yield* storedVersionErrors(definition);
}

function storageVersionOf(definition: JsonObject): string | undefined {
  const versions = objectsAt(objectAt(definition, "spec"), "versions");
  const storage = versions.find((version) => version["storage"] === true);
  return storage === undefined ? undefined : stringAt(storage, "name");
}

/** Members of the status that are always written. */
function setStatusDefaults(definition: JsonObject): void {
  const status = ownStruct(definition, "status");
  setMissing(status, { conditions: null });
  setMissing(ownStruct(status, "acceptedNames"), { plural: "", kind: "" });
  if (stringsAt(status, "storedVersions").length > 0) return;
  const storage = storageVersionOf(definition);
  status["storedVersions"] = storage === undefined ? null : [storage];
}

function* definitionNameErrors(definition: JsonObject): Generator<FieldError> {
  const spec = objectAt(definition, "spec");
  const name = stringAt(objectAt(definition, "metadata"), "name");
  if (name !== "" && name !== `${stringAt(objectAt(spec, "names"), "plural")}.${stringAt(spec, "group")}`)
    yield invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group');
}

const WARNING_BYTES_MAX = 256;
const UNPRINTABLE = /[^ \p{L}\p{M}\p{N}\p{P}\p{S}]/u;

function* deprecationErrors(version: JsonObject, field: string): Generator<FieldError> {
  const warning = version["deprecationWarning"];
  if (typeof warning !== "string") return;
  if (version["deprecated"] !== true) {
    yield invalidValue(field, warning, "can only be set for deprecated versions");
    return;
  }
  if (Buffer.byteLength(warning) > WARNING_BYTES_MAX)
    yield invalidValue(field, warning, `must be <= ${WARNING_BYTES_MAX} characters long`);
  if (warning === "") yield invalidValue(field, warning, "must not be an empty string");
  const at = warning.search(UNPRINTABLE);
  if (at >= 0)
    yield invalidValue(
      field,
      warning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, at))}`,
    );
}

function* versionSchemaErrors(version: JsonObject, field: string): Generator<FieldError> {
  const { openAPIV3Schema } = objectAt(version, "schema");
  if (isJsonObject(openAPIV3Schema)) yield* schemaErrors(openAPIV3Schema, `${field}.openAPIV3Schema`);
}

/** Schemas that were stored before they were checked stay. */
function hasSchemaErrors(spec: JsonObject): boolean {
  return objectsAt(spec, "versions").some((version) => versionSchemaErrors(version, "").next().done !== true);
}

function* specErrors(spec: JsonObject, checksSchemas: boolean): Generator<FieldError> {
  yield* groupErrors(stringAt(spec, "group"));
  yield* enumErrors(stringAt(spec, "scope"), "spec.scope", ["Cluster", "Namespaced"]);
  const versions = objectsAt(spec, "versions");
  for (const [index, version] of versions.entries())
    if (objectAt(version, "schema")["openAPIV3Schema"] === undefined)
      yield required(`spec.versions[${index}].schema.openAPIV3Schema`);
  const hasOneSchema = versions.every((version) => jsonEquals(version["schema"], versions[0]?.["schema"]));
  for (const [index, version] of versions.entries()) {
    yield* labelErrors(stringAt(version, "name"), `spec.versions[${index}].name`);
    yield* deprecationErrors(version, `spec.versions[${index}].deprecationWarning`);
    if (checksSchemas && !hasOneSchema) yield* versionSchemaErrors(version, `spec.versions[${index}].schema`);
  }
  yield* versionListErrors(versions, spec["versions"]);
  const [first] = versions;
  // As kubernetes: what the versions had in common, when they were one, is still looked at.
  if (first !== undefined && stringAt(first, "name") !== "")
    yield* labelErrors(stringAt(first, "name"), "spec.version");
  const names = objectAt(spec, "names");
  for (const key of ["plural", "singular", "kind", "listKind"])
    if (stringAt(names, key) === "") yield required(`spec.names.${key}`);
  yield* namesErrors(names);
  // What versions have in common is looked at as it was when there was one.
  if (checksSchemas && hasOneSchema && first !== undefined) yield* versionSchemaErrors(first, "spec.validation");
}

/** Every version that objects may be stored in is known, and the one they are stored in is among them. */
function* storedVersionErrors(definition: JsonObject): Generator<FieldError> {
  const stored = stringsAt(objectAt(definition, "status"), "storedVersions");
  const versions = objectsAt(objectAt(definition, "spec"), "versions");
  const field = "status.storedVersions";
  if (stored.length === 0) {
    yield invalidValue(field, null, "must have at least one stored version");
    return;
  }
  const indices = new Map(stored.map((version, index) => [version, index]));
  for (const version of versions) {
    const name = stringAt(version, "name");
    if (!indices.delete(name) && version["storage"] === true)
      yield invalidValue(field, stored, `must have the storage version ${name}`);
  }
  for (const [name, index] of indices)
    yield invalidValue(
      `${field}[${index}]`,
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    );
}

const PER_VERSION: readonly string[] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

/** As messages show them, when what versions have in common stands beside them. */
const VERSIONS: GoType = {
  list: {
    struct: [
      ["Name", "name", "string"],
      ["Served", "served", "boolean"],
      ["Storage", "storage", "boolean"],
      ["Deprecated", "deprecated", "boolean"],
      ["DeprecationWarning", "deprecationWarning", "any"],
      ["Schema", "", "any"],
      ["Subresources", "", "any"],
      ["AdditionalPrinterColumns", "", "any"],
      ["SelectableFields", "", "any"],
    ],
  },
};

/** DIFFERS: versions that differ in more than their names are not counted; they would have to be shown. */
function* versionListErrors(versions: readonly JsonObject[], shown: unknown): Generator<FieldError> {
  const [first] = versions;
  if (!versions.every((version) => PER_VERSION.every((key) => jsonEquals(version[key], first?.[key])))) return;
  const names = new Set(versions.map((version) => stringAt(version, "name")));
  if (names.size < versions.length)
    yield invalidValue("spec.versions", goValue(shown, VERSIONS), "must contain unique version names");
  if (versions.filter((version) => version["storage"] === true).length !== 1)
    yield invalidValue(
      "spec.versions",
      goValue(shown, VERSIONS),
      "must have exactly one version marked as storage version",
    );
}

function* groupErrors(group: string): Generator<FieldError> {
  const sentences = dnsSubdomainErrors(group);
  if (group === "") yield required("spec.group");
  else if (sentences.length > 0) yield invalidValue("spec.group", group, sentences.join(","));
  else if (!group.includes(".")) yield invalidValue("spec.group", group, "should be a domain with at least one dot");
}

function* labelErrors(label: string, field: string): Generator<FieldError> {
  const sentences = dns1035LabelErrors(label);
  if (sentences.length > 0) yield invalidValue(field, label, sentences.join(","));
}

function* namesErrors(names: JsonObject): Generator<FieldError> {
  for (const key of ["plural", "singular"])
    if (stringAt(names, key) !== "") yield* labelErrors(stringAt(names, key), `spec.names.${key}`);
  for (const key of ["kind", "listKind"]) {
    const name = stringAt(names, key);
    const sentences = dns1035LabelErrors(name.toLowerCase());
    if (name !== "" && sentences.length > 0)
      yield invalidValue(
        `spec.names.${key}`,
        name,
        `may have mixed case, but should otherwise match: ${sentences.join(",")}`,
      );
  }
  for (const [index, name] of stringsAt(names, "shortNames").entries())
    yield* labelErrors(name, `spec.names.shortNames[${index}]`);
  const kind = stringAt(names, "kind");
  if (kind !== "" && kind === stringAt(names, "listKind"))
    yield invalidValue("spec.names.listKind", kind, "kind and listKind may not be the same");
  for (const [index, name] of stringsAt(names, "categories").entries())
    yield* labelErrors(name, `spec.names.categories[${index}]`);
}
