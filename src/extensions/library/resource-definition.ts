/**
 * The description of a resource that a program passes to `createApiServer`, and the custom resource definition derived
 * from it.
 */
import { createHash } from "node:crypto";
import { CUSTOM_RESOURCE_DEFINITION } from "../crd/validation/crd-kind.ts";
import { parseCrd, type Crd } from "../crd/crd.ts";
import { firstErrors } from "../../meta/field-errors.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { OptionError } from "../../base/option-error.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** A resource in one or several versions. */
export interface ResourceDefinition {
  /** For example "wardle.example.com". */
  readonly group: string;
  readonly names: ResourceNames;
  readonly scope: "Namespaced" | "Cluster";
  /** The versions of the resource. The first one is the storage version, unless `storageVersion` names another. */
  readonly versions: readonly ResourceVersion[];
  readonly storageVersion?: string;
  /**
   * Returns the object converted to `to`, which is "group/version". It may modify the object. Of the metadata, only
   * labels and annotations may change. If absent, the versions differ only in their apiVersion.
   */
  convert?(object: JsonObject, to: string): JsonObject | Promise<JsonObject>;
}

export interface ResourceNames {
  readonly plural: string;
  readonly kind: string;
  /** Default: the kind in lower case. */
  readonly singular?: string;
  /** Default: the kind followed by "List". */
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface ResourceVersion extends ResourceHooks {
  /** For example "v1beta1". */
  readonly name: string;
  /** As `openAPIV3Schema` of a CustomResourceDefinition: structural, with defaults and rules. */
  readonly schema: JsonObject;
  /** If false, the version is not served, and only decoded from the store. Default true. */
  readonly served?: boolean;
  /** Whether clients of the version receive a warning: this text, or the default text if true. */
  readonly deprecated?: boolean | string;
  /** Whether the status is written only through the status subresource. */
  readonly status?: boolean;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath?: string;
  };
  /** Columns of `kubectl get`. Default: the age. */
  readonly printerColumns?: readonly {
    readonly name: string;
    readonly type: "integer" | "number" | "string" | "boolean" | "date";
    readonly jsonPath: string;
    readonly description?: string;
    readonly format?: string;
    readonly priority?: number;
  }[];
  /** Fields that field selectors may use, for example ".spec.color". */
  readonly selectableFields?: readonly string[];
}

/**
 * Behavior that the schema cannot express. All objects passed to a hook are in the version of the hook and were decoded
 * by its schema. Only `setDefaults` and the prepare hooks may modify them.
 */
export interface ResourceHooks {
  /**
   * Changes the object in place after the defaults of the schema are set, also when the object is read from the store.
   * It must be idempotent.
   */
  setDefaults?(object: JsonObject): void;
  /**
   * Changes the object in place before validation. It must copy values below spec and status before it changes them.
   */
  prepareCreate?(object: JsonObject): void;
  prepareUpdate?(object: JsonObject, existing: JsonObject): void;
  /**
   * Returns the errors of a new or changed object that its schema does not report. `existing` is absent for a new
   * object.
   */
  validate?(object: JsonObject, existing?: JsonObject): Iterable<FieldError>;
  /** As `validate`, for an update of the status subresource. */
  validateStatus?(object: JsonObject, existing: JsonObject): Iterable<FieldError>;
  /** Returns the warnings that the client of a successful request receives. */
  warnings?(object: JsonObject, existing?: JsonObject): Iterable<string>;
}

/**
 * Derives the CRD of the resource, and validates it as a release with these gates does. Throws an OptionError if it is
 * invalid.
 */
export function toCrd(resource: ResourceDefinition, gates: ReleaseGates): Crd {
  const object = crdObject(resource);
  const kind = CUSTOM_RESOURCE_DEFINITION;
  // Nothing in the CRD depends on the time and the IP families.
  const context = { gates, time: "", ipFamilies: [] };
  kind.setDefaults?.(object, context);
  kind.prepareCreate?.(object, context);
  const errors = firstErrors(kind.createErrors?.(object, context) ?? []);
  if (errors.length > 0) {
    const said = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
    throw new OptionError(`the resource ${nameOf(resource)} cannot be served: ${said}`);
  }
  return parseCrd(established(object));
}

function nameOf({ names, group }: ResourceDefinition): string {
  return `${names.plural}.${group}`;
}

function crdObject(resource: ResourceDefinition): JsonObject {
  const { group, names, scope, versions, storageVersion = versions[0]?.name } = resource;
  const spec = {
    group,
    scope,
    names: withoutUndefined({ ...names }),
    versions: versions.map((version) => crdVersion(version, version.name === storageVersion)),
  };
  // The UID identifies everything that is derived from the CRD. It is a hash, so that it is the same on every server
  // with the same spec.
  const uid = createHash("sha256").update(JSON.stringify(spec)).digest("base64url");
  const metadata = { name: nameOf(resource), uid, generation: 1, annotations: APPROVED };
  return structuredClone({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata, spec });
}

/** Lets a program serve any group, including protected groups of the Kubernetes community. */
const APPROVED = { "api-approved.kubernetes.io": "unapproved, served by an API server of its own" } as const;

function crdVersion(version: ResourceVersion, isStorage: boolean): JsonObject {
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

/** Returns the object with all names accepted, because they cannot conflict with those of another CRD. */
function established(object: JsonObject): JsonObject {
  const { names } = object["spec"] as JsonObject;
  const conditions = ["NamesAccepted", "Established"].map((type) => ({ type, status: "True" }));
  return { ...object, status: { ...(object["status"] as JsonObject), acceptedNames: names, conditions } };
}
