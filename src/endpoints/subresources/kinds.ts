/**
 * The kinds that subresources speak and nobody stores: what their bodies may hold, and how they are shown.
 * Their metadata is that of the resource they belong to.
 */
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import { objectAt, stringAt } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../../object/schema.ts";
import { ageOf, timeAt } from "../../object/table/row.ts";
import type { ColumnDefinition, TableRenderer } from "../../object/table/table.ts";
import type { ServedResource } from "../../registry/resource.ts";

const AUTOSCALING_V1: GroupVersion = { group: "autoscaling", version: "v1" };
const CORE_V1: GroupVersion = { group: "", version: "v1" };
const POLICY = "policy";

export function scaleKind(parent: ServedResource): ServedResource {
  const schema = kindSchema(parent, "io.k8s.api.autoscaling.v1.Scale", {
    spec: struct("io.k8s.api.autoscaling.v1.ScaleSpec", { replicas: INT32 }),
    status: struct("io.k8s.api.autoscaling.v1.ScaleStatus", { replicas: INT32, selector: STRING }),
  });
  return unstored(parent, { groupVersion: AUTOSCALING_V1, kind: "Scale", schema, table: SCALE_TABLE });
}

export function bindingKind(pods: ServedResource): ServedResource {
  const target = struct("io.k8s.api.core.v1.ObjectReference", {
    kind: STRING,
    namespace: STRING,
    name: STRING,
    uid: STRING,
    apiVersion: STRING,
    resourceVersion: STRING,
    fieldPath: STRING,
  });
  return unstored(pods, {
    groupVersion: CORE_V1,
    kind: "Binding",
    schema: kindSchema(pods, "io.k8s.api.core.v1.Binding", { target }),
    table: NO_TABLE,
  });
}

/** Evictions of policy/v1beta1 are understood after that version has gone from everywhere else. */
export function evictionKind(pods: ServedResource, version: "v1" | "v1beta1"): ServedResource {
  const preconditions = struct("io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions", {
    uid: STRING,
    resourceVersion: STRING,
  });
  const deleteOptions = struct("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", {
    apiVersion: STRING,
    kind: STRING,
    dryRun: { ...FIELD, type: "array", items: STRING },
    gracePeriodSeconds: { ...FIELD, type: "integer", format: "int64" },
    orphanDependents: BOOLEAN,
    preconditions,
    propagationPolicy: STRING,
    ignoreStoreReadErrorWithClusterBreakingPotential: BOOLEAN,
  });
  const schema = kindSchema(pods, `io.k8s.api.policy.${version}.Eviction`, { deleteOptions });
  return unstored(pods, { groupVersion: { group: POLICY, version }, kind: "Eviction", schema, table: NO_TABLE });
}

interface UnstoredKind {
  readonly groupVersion: GroupVersion;
  readonly kind: string;
  readonly schema: StructSchema;
  readonly table: TableRenderer;
}

function unstored(parent: ServedResource, { groupVersion, kind, schema, table }: UnstoredKind): ServedResource {
  const apiVersion = formatGroupVersion(groupVersion);
  return {
    stored: { ...parent.stored, storageVersion: groupVersion },
    groupResource: parent.groupResource,
    groupVersion,
    apiVersion,
    kind,
    listKind: `${kind}List`,
    schema,
    schemaOf: () => undefined,
    table,
    fieldSelectors: [],
    fieldSelectorErrorStyle: "default",
    fieldSelectorAliases: {},
    objectHead: Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
  };
}

const FIELD: Omit<FieldSchema, "type"> = {
  struct: undefined,
  items: undefined,
  format: undefined,
  required: false,
  default: undefined,
  enum: undefined,
  listType: undefined,
  listMapKeys: undefined,
  mapType: undefined,
  patchStrategy: undefined,
  patchMergeKey: undefined,
  intOrString: false,
  quantity: false,
  embeddedResource: false,
  preserveUnknown: false,
};
const STRING: FieldSchema = { ...FIELD, type: "string" };
const BOOLEAN: FieldSchema = { ...FIELD, type: "boolean" };
const INT32: FieldSchema = { ...FIELD, type: "integer", format: "int32" };

function struct(name: string, fields: Readonly<Record<string, FieldSchema>>): FieldSchema {
  return { ...FIELD, type: "struct", struct: structSchema(name, fields) };
}

function structSchema(name: string, fields: Readonly<Record<string, FieldSchema>>): StructSchema {
  return { name, fields: new Map(Object.entries(fields)), mapType: undefined, preserveUnknown: false };
}

function kindSchema(parent: ServedResource, name: string, fields: Readonly<Record<string, FieldSchema>>): StructSchema {
  const metadata = parent.schema.fields.get("metadata") ?? { ...FIELD, type: "struct" };
  return structSchema(name, { apiVersion: STRING, kind: STRING, metadata, ...fields });
}

const NO_TABLE: TableRenderer = { columns: [], cells: () => [] };

const SCALE_TABLE: TableRenderer = {
  columns: [
    column("Name", "string"),
    column("Desired", "integer"),
    column("Available", "integer"),
    column("Age", "string"),
  ],
  cells: (scale, now) => [
    stringAt(objectAt(scale, "metadata"), "name"),
    Number(objectAt(scale, "spec")["replicas"] ?? 0),
    Number(objectAt(scale, "status")["replicas"] ?? 0),
    ageOf(timeAt(scale, "metadata", "creationTimestamp"), { now, minor: 0 }),
  ],
};

function column(name: string, type: string): ColumnDefinition {
  return { name, type, format: "", description: name, priority: 0 };
}
