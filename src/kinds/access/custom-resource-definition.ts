/** Definitions of custom resources: names, scope and versions; what schemas say is not looked at. */
import { invalidValue, required } from "../../meta/field-errors.ts";
import { jsonEquals, objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { enumErrors, objectsAt } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { ownPointer, ownStruct, setEmpty, setMissing } from "../storage/defaults.ts";
import { goValue, type GoType } from "../storage/go-value.ts";

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
    yield* definitionErrors(definition);
  },
  *updateErrors(definition) {
    yield* definitionNameErrors(definition);
    yield* definitionErrors(definition);
  },
};

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
  if (name !== `${stringAt(objectAt(spec, "names"), "plural")}.${stringAt(spec, "group")}`)
    yield invalidValue("metadata.name", name, 'must be spec.names.plural+"."+spec.group');
}

function* definitionErrors(definition: JsonObject): Generator<FieldError> {
  const spec = objectAt(definition, "spec");
  yield* groupErrors(stringAt(spec, "group"));
  yield* enumErrors(stringAt(spec, "scope"), "spec.scope", ["Cluster", "Namespaced"]);
  const versions = objectsAt(spec, "versions");
  for (const [index, version] of versions.entries())
    if (objectAt(version, "schema")["openAPIV3Schema"] === undefined)
      yield required(`spec.versions[${index}].schema.openAPIV3Schema`);
  for (const [index, version] of versions.entries())
    yield* labelErrors(stringAt(version, "name"), `spec.versions[${index}].name`);
  yield* versionListErrors(versions, spec["versions"]);
  const names = objectAt(spec, "names");
  for (const key of ["plural", "singular", "kind", "listKind"])
    if (stringAt(names, key) === "") yield required(`spec.names.${key}`);
  yield* namesErrors(names);
  if (versions.every((version) => version["storage"] !== true))
    yield invalidValue("status.storedVersions", null, "must have at least one stored version");
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
