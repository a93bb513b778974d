/** The kind CustomResourceDefinition: its defaults, preparation, validation and deletion. */
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { Kind, KindEntry } from "../../../objects/kinds/kind.ts";
import { beginCrdDeletion } from "./begin-crd-deletion.ts";
import { ownPointer, ownStruct, setEmpty, setMissing, setMissingInItems } from "../../../objects/kinds/defaults.ts";
import { crdErrors, crdUpdateErrors, statusErrors } from "./crd-rules.ts";
import { formatWarnings } from "./format-warnings.ts";
import { readSchema } from "./read-schema.ts";

export const CUSTOM_RESOURCE_DEFINITION: Kind = {
  setDefaults(crd) {
    const spec = ownStruct(crd, "spec");
    setNamesDefaults(ownStruct(spec, "names"));
    setMissing(spec, { conversion: { strategy: "None" } });
    const webhook = ownPointer(ownStruct(spec, "conversion"), "webhook");
    const client = webhook === undefined ? undefined : ownPointer(webhook, "clientConfig");
    const service = client === undefined ? undefined : ownPointer(client, "service");
    if (service !== undefined) setMissing(service, { port: 443 });
    setMissingInItems(spec, "versions", { name: "", served: false, storage: false });
    setStatusDefaults(crd);
  },
  prepareCreate(definition) {
    definition["status"] = {};
    prepareSpec(definition);
    setStatusDefaults(definition);
  },
  prepareUpdate(definition) {
    prepareSpec(definition);
    const storage = storageVersionOf(definition);
    const status = ownStruct(definition, "status");
    const stored = stringsAt(status, "storedVersions");
    if (storage !== undefined && !stored.includes(storage)) status["storedVersions"] = [...stored, storage];
  },
  createErrors: crdErrors,
  updateErrors: crdUpdateErrors,
  statusUpdateErrors: statusErrors,
  warnings: formatWarnings,
  beginDeletion: beginCrdDeletion,
};

/** The version in which kube-apiserver stores CRDs. No release serves it, so it needs defaults only. */
const STORED_DEFINITION: Kind = {
  setDefaults(crd) {
    const spec = ownStruct(crd, "spec");
    setEmpty(spec, { scope: "Namespaced" });
    setNamesDefaults(ownStruct(spec, "names"));
    setVersionsDefaults(spec);
    setMissing(spec, { conversion: { strategy: "None" }, preserveUnknownFields: true });
    const conversion = ownStruct(spec, "conversion");
    if (
      stringAt(conversion, "strategy") === "Webhook" &&
      stringsAt(conversion, "conversionReviewVersions").length === 0
    )
      conversion["conversionReviewVersions"] = ["v1beta1"];
    const client = ownPointer(conversion, "webhookClientConfig");
    const service = client === undefined ? undefined : ownPointer(client, "service");
    if (service !== undefined) setMissing(service, { port: 443 });
    setStatusDefaults(crd);
  },
};

/** Either a single version or the list of versions may be absent. */
function setVersionsDefaults(spec: JsonObject): void {
  const version = stringAt(spec, "version");
  const [first] = objectsAt(spec, "versions");
  if (first === undefined && version !== "") spec["versions"] = [{ name: version, served: true, storage: true }];
  else if (first !== undefined && version === "") spec["version"] = stringAt(first, "name");
}

function setNamesDefaults(names: JsonObject): void {
  const kind = stringAt(names, "kind");
  if (kind !== "") setEmpty(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
}

export const DEFINITION_KINDS: readonly KindEntry[] = [
  ["apiextensions.k8s.io/v1/CustomResourceDefinition", CUSTOM_RESOURCE_DEFINITION],
  ["apiextensions.k8s.io/v1beta1/CustomResourceDefinition", STORED_DEFINITION],
];

function storageVersionOf(definition: JsonObject): string | undefined {
  const versions = objectsAt(objectAt(definition, "spec"), "versions");
  const storage = versions.find((version) => version["storage"] === true);
  return storage === undefined ? undefined : stringAt(storage, "name");
}

/** Sets the status fields that are always present. */
function setStatusDefaults(definition: JsonObject): void {
  const status = ownStruct(definition, "status");
  setMissing(status, { conditions: null });
  setMissing(ownStruct(status, "acceptedNames"), { plural: "", kind: "" });
  if (stringsAt(status, "storedVersions").length > 0) return;
  const storage = storageVersionOf(definition);
  status["storedVersions"] = storage === undefined ? null : [storage];
}

/** Drops unknown and empty fields of the schemas, and removes an empty webhook. */
function prepareSpec(definition: JsonObject): void {
  const spec = ownStruct(definition, "spec");
  const { versions } = spec;
  if (Array.isArray(versions)) spec["versions"] = versions.map(preparedVersion);
  const { webhook } = objectAt(spec, "conversion");
  if (!isJsonObject(webhook) || !isEmptyWebhook(webhook)) return;
  const { webhook: _, ...conversion } = objectAt(spec, "conversion");
  spec["conversion"] = conversion;
}

function isEmptyWebhook(webhook: JsonObject): boolean {
  return webhook["clientConfig"] === undefined && stringsAt(webhook, "conversionReviewVersions").length === 0;
}

function preparedVersion(version: unknown): unknown {
  if (!isJsonObject(version)) return version;
  const { openAPIV3Schema } = objectAt(version, "schema");
  if (!isJsonObject(openAPIV3Schema)) return version;
  return { ...version, schema: { openAPIV3Schema: readSchema(openAPIV3Schema) } };
}
