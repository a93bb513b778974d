/** A CustomResourceDefinition as parsed for the rest of the server: its names, versions and state. */
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";

export interface Crd {
  /** Name of the CRD: PLURAL.GROUP */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Increases with every change of the spec. */
  readonly generation: number;
  readonly group: string;
  readonly names: CrdNames;
  readonly acceptedNames: CrdNames;
  readonly namespaced: boolean;
  /** The versions in the order of the spec. */
  readonly versions: readonly CrdVersion[];
  readonly storageVersion: string;
  readonly storedVersions: readonly string[];
  /** True only for CRDs that were created with v1beta1. Fields that the schema does not specify are then kept. */
  readonly preserveUnknownFields: boolean;
  readonly conversion: CrdConversion;
  /** Undefined if the controller has not decided yet. */
  readonly areNamesAccepted: boolean | undefined;
  readonly isEstablished: boolean;
  readonly isTerminating: boolean;
  readonly isBeingDeleted: boolean;
}

export interface CrdNames {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

export interface CrdVersion {
  readonly name: string;
  readonly isServed: boolean;
  readonly isStorage: boolean;
  readonly isDeprecated: boolean;
  /** Text that replaces the default warning; undefined if there is none. */
  readonly deprecationWarning: string | undefined;
  readonly hasStatus: boolean;
  readonly scale: ScalePaths | undefined;
  readonly columns: readonly PrinterColumn[];
  /** JSON paths of the fields that field selectors may use, for example ".spec.color". */
  readonly selectableFields: readonly string[];
  /**
   * Reads openAPIV3Schema as written in the CRD; undefined if the version has none. The caller may modify the result.
   */
  readonly schema: () => JsonObject | undefined;
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** JSON path of the label selector; empty if there is none. */
  readonly labelSelectorPath: string;
}

interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  readonly jsonPath: string;
}

type CrdConversion =
  | { readonly strategy: "None" }
  | {
      readonly strategy: "Webhook";
      /** spec.conversion.webhook.clientConfig as written in the CRD. */
      readonly clientConfig: JsonObject;
      readonly reviewVersions: readonly string[];
    };

/** A key that changes whenever the spec of the CRD changes, or the CRD is deleted and created again. */
export function crdKey({ uid, generation }: Pick<Crd, "uid" | "generation">): string {
  return `${uid}/${generation}`;
}

/**
 * Parses an object in v1. A malformed object becomes a CRD that serves nothing. Schemas make up most of a CRD and are
 * seldom needed, so they are not kept; `read` returns the object again when a schema is needed.
 */
export function parseCrd(object: JsonObject, read: () => JsonObject = () => object): Crd {
  const metadata = objectAt(object, "metadata");
  const spec = objectAt(object, "spec");
  const status = objectAt(object, "status");
  const conditions = objectsAt(status, "conditions");
  const isTrue = (type: string): boolean => conditionStatus(conditions, type) === "True";
  const namesAccepted = conditionStatus(conditions, "NamesAccepted");
  const versions = versionsOf(object).map((version, index) => parseVersion(version, schemaReader(read, index)));
  return {
    name: stringAt(metadata, "name"),
    uid: stringAt(metadata, "uid"),
    resourceVersion: stringAt(metadata, "resourceVersion"),
    generation: Number(metadata["generation"] ?? 0),
    group: stringAt(spec, "group"),
    names: parseNames(objectAt(spec, "names")),
    acceptedNames: parseNames(objectAt(status, "acceptedNames")),
    namespaced: stringAt(spec, "scope") === "Namespaced",
    versions,
    storageVersion: versions.find(({ isStorage }) => isStorage)?.name ?? "",
    storedVersions: stringsAt(status, "storedVersions"),
    preserveUnknownFields: spec["preserveUnknownFields"] === true,
    conversion: parseConversion(objectAt(spec, "conversion")),
    areNamesAccepted: namesAccepted === "" ? undefined : namesAccepted === "True",
    isEstablished: isTrue("Established"),
    isTerminating: isTrue("Terminating"),
    isBeingDeleted: metadata["deletionTimestamp"] !== undefined,
  };
}

function conditionStatus(conditions: readonly JsonObject[], type: string): string {
  const condition = conditions.find((candidate) => candidate["type"] === type);
  return condition === undefined ? "" : stringAt(condition, "status");
}

function parseNames(names: JsonObject): CrdNames {
  return {
    plural: stringAt(names, "plural"),
    singular: stringAt(names, "singular"),
    kind: stringAt(names, "kind"),
    listKind: stringAt(names, "listKind"),
    shortNames: stringsAt(names, "shortNames"),
    categories: stringsAt(names, "categories"),
  };
}

function versionsOf(object: JsonObject): JsonObject[] {
  return objectsAt(objectAt(object, "spec"), "versions");
}

/** A separate function, because a closure in `parseCrd` would keep the whole object in memory. */
function schemaReader(read: () => JsonObject, index: number): CrdVersion["schema"] {
  return () => {
    const { openAPIV3Schema } = objectAt(versionsOf(read())[index] ?? {}, "schema");
    return isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined;
  };
}

function parseVersion(version: JsonObject, schema: CrdVersion["schema"]): CrdVersion {
  const subresources = objectAt(version, "subresources");
  return {
    name: stringAt(version, "name"),
    isServed: version["served"] === true,
    isStorage: version["storage"] === true,
    isDeprecated: version["deprecated"] === true,
    deprecationWarning: typeof version["deprecationWarning"] === "string" ? version["deprecationWarning"] : undefined,
    hasStatus: isJsonObject(subresources["status"]),
    scale: isJsonObject(subresources["scale"]) ? parseScale(subresources["scale"]) : undefined,
    columns: objectsAt(version, "additionalPrinterColumns").map(parseColumn),
    selectableFields: objectsAt(version, "selectableFields").map((field) => stringAt(field, "jsonPath")),
    schema,
  };
}

function parseScale(scale: JsonObject): ScalePaths {
  return {
    specReplicasPath: stringAt(scale, "specReplicasPath"),
    statusReplicasPath: stringAt(scale, "statusReplicasPath"),
    labelSelectorPath: stringAt(scale, "labelSelectorPath"),
  };
}

function parseColumn(column: JsonObject): PrinterColumn {
  return {
    name: stringAt(column, "name"),
    type: stringAt(column, "type"),
    format: stringAt(column, "format"),
    description: stringAt(column, "description"),
    priority: Number(column["priority"] ?? 0),
    jsonPath: stringAt(column, "jsonPath"),
  };
}

function parseConversion(conversion: JsonObject): CrdConversion {
  if (conversion["strategy"] !== "Webhook") return { strategy: "None" };
  const webhook = objectAt(conversion, "webhook");
  return {
    strategy: "Webhook",
    clientConfig: objectAt(webhook, "clientConfig"),
    reviewVersions: stringsAt(webhook, "conversionReviewVersions"),
  };
}
