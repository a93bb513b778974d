/** A resource as whoever builds an API server describes it, and the definition that is made of it. */
import { createHash } from "node:crypto";
import { CUSTOM_RESOURCE_DEFINITION } from "../crd/definition-validation/definition-kind.ts";
import { parseDefinition, type Definition } from "../crd/definition.ts";
import { firstErrors } from "../../meta/field-errors.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { OptionError } from "../../base/option-error.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** What an API server serves under one name, in one or several versions. */
export interface ResourceDefinition {
  /** Such as "wardle.example.com". */
  readonly group: string;
  readonly names: ResourceNames;
  readonly scope: "Namespaced" | "Cluster";
  /** The first one is written to the store, unless `storageVersion` names another. */
  readonly versions: readonly ResourceVersion[];
  readonly storageVersion?: string;
  /**
   * The object, which is the function's to change, in the version "group/version". Only its labels and annotations may
   * differ of its metadata. Absent: versions differ in nothing but their name.
   */
  convert?(object: JsonObject, to: string): JsonObject | Promise<JsonObject>;
}

export interface ResourceNames {
  readonly plural: string;
  readonly kind: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  /** Default: the kind, with "List" behind it. */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface ResourceVersion extends ResourceHooks {
  /** Such as "v1beta1". */
  readonly name: string;
  /** As `openAPIV3Schema` of a CustomResourceDefinition: structural, with defaults and rules. */
  readonly schema: JsonObject;
  /** False: only read from the store. Default true. */
  readonly served?: boolean;
  /** Users are warned, in these words or, for true, in the usual ones. */
  readonly deprecated?: boolean | string;
  /** The status is written through the subresource only. */
  readonly status?: boolean;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  /** What `kubectl get` shows; default the age. */
  readonly printerColumns?: readonly {
    readonly name: string;
    readonly type: "integer" | "number" | "string" | "boolean" | "date";
    readonly jsonPath: string;
    readonly description?: string;
    readonly format?: string;
    readonly priority?: number;
  }[];
  /** Such as ".spec.color". */
  readonly selectableFields?: readonly string[];
}

/**
 * What the schema cannot say. All objects are in this version and have passed its schema's decoding. Objects are the
 * hooks' to change where that is what a hook is for, and never otherwise.
 */
export interface ResourceHooks {
  /** In place, after the schema's defaults, also of what is stored: doing it twice changes nothing. */
  setDefaults?(object: JsonObject): void;
  /** In place, before the checks. What lies deeper than spec and status is copied to be changed. */
  prepareCreate?(object: JsonObject): void;
  prepareUpdate?(object: JsonObject, existing: JsonObject): void;
  /** What is wrong with a new or changed object, beyond its schema; `existing` is absent for a new one. */
  validate?(object: JsonObject, existing?: JsonObject): Iterable<FieldError>;
  /** The same of a change of the status alone. */
  validateStatus?(object: JsonObject, existing: JsonObject): Iterable<FieldError>;
  /** Told to the client beside a success. */
  warnings?(object: JsonObject, existing?: JsonObject): Iterable<string>;
}

/** Checked as a release with these gates checks a CustomResourceDefinition. Throws an OptionError. */
export function toDefinition(resource: ResourceDefinition, gates: ReleaseGates): Definition {
  const object = definitionObject(resource);
  const kind = CUSTOM_RESOURCE_DEFINITION;
  // Nothing of it depends on the time.
  const context = { gates, time: "" };
  kind.setDefaults?.(object, context);
  kind.prepareCreate?.(object, context);
  const errors = firstErrors(kind.createErrors?.(object, context) ?? []);
  if (errors.length > 0) {
    const said = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
    throw new OptionError(`the resource ${nameOf(resource)} cannot be served: ${said}`);
  }
  return parseDefinition(established(object));
}

function nameOf({ names, group }: ResourceDefinition): string {
  return `${names.plural}.${group}`;
}

function definitionObject(resource: ResourceDefinition): JsonObject {
  const { group, names, scope, versions, storageVersion = versions[0]?.name } = resource;
  const spec = {
    group,
    scope,
    names: withoutUndefined({ ...names }),
    versions: versions.map((version) => definitionVersion(version, version.name === storageVersion)),
  };
  // What is made of a definition is known by these: the same on every server that is given the same.
  const uid = createHash("sha256").update(JSON.stringify(spec)).digest("base64url");
  const metadata = { name: nameOf(resource), uid, generation: 1, annotations: APPROVED };
  return structuredClone({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata, spec });
}

/** Whoever builds a server may serve any group. */
const APPROVED = { "api-approved.kubernetes.io": "unapproved, served by an API server of its own" } as const;

function definitionVersion(version: ResourceVersion, isStorage: boolean): JsonObject {
  const { name, schema, served = true, deprecated, status, scale, printerColumns, selectableFields } = version;
  const subresources = { ...(status === true ? { status: {} } : {}), ...(scale === undefined ? {} : { scale }) };
  return withoutUndefined({
    name,
    served,
    storage: isStorage,
    schema: { openAPIV3Schema: schema },
    subresources: Object.keys(subresources).length === 0 ? undefined : subresources,
    additionalPrinterColumns: printerColumns,
    selectableFields: selectableFields?.map((jsonPath) => ({ jsonPath })),
    deprecated: deprecated === undefined || deprecated === false ? undefined : true,
    deprecationWarning: typeof deprecated === "string" ? deprecated : undefined,
  });
}

function withoutUndefined(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Nobody has to be asked about the names. */
function established(object: JsonObject): JsonObject {
  const { names } = object["spec"] as JsonObject;
  const conditions = ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" }));
  return { ...object, status: { ...(object["status"] as JsonObject), acceptedNames: names, conditions } };
}
