/**
 * The served kinds of subresource bodies (Scale, Binding, Eviction): their schemas and Tables. They are never stored.
 */
import { assert } from "../../../base/assert.ts";
import { formatGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { objectAt, stringAt } from "../../../meta/json.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { ageOf, timeAt } from "../../../objects/table/row.ts";
import type { ColumnDefinition, TableRenderer } from "../../../objects/table/table.ts";
import type { ServedResource } from "../../registry/resource.ts";

const AUTOSCALING_V1: GroupVersion = { group: "autoscaling", version: "v1" };
const CORE_V1: GroupVersion = { group: "", version: "v1" };
const POLICY_V1: GroupVersion = { group: "policy", version: "v1" };

export function scaleKind(parent: ServedResource): ServedResource {
  const schema = schemaIn(parent, AUTOSCALING_V1, "Scale");
  return unstored(parent, { groupVersion: AUTOSCALING_V1, kind: "Scale", schema, table: SCALE_TABLE });
}

export function bindingKind(pods: ServedResource): ServedResource {
  const schema = schemaIn(pods, CORE_V1, "Binding");
  return unstored(pods, { groupVersion: CORE_V1, kind: "Binding", schema, table: NO_TABLE });
}

/**
 * The kind Eviction. The version v1beta1, which has the same fields, is accepted even by releases that removed
 * policy/v1beta1.
 */
export function evictionKind(pods: ServedResource, version: "v1" | "v1beta1"): ServedResource {
  const schema = schemaIn(pods, POLICY_V1, "Eviction");
  return unstored(pods, { groupVersion: { ...POLICY_V1, version }, kind: "Eviction", schema, table: NO_TABLE });
}

function schemaIn(parent: ServedResource, groupVersion: GroupVersion, kind: string): StructSchema {
  const schema = parent.schemaOf(groupVersion, kind);
  assert(schema !== undefined, `every release has the kind ${kind}`);
  return schema;
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
    meaning: {},
    gates: parent.gates,
    schema,
    schemaOf: (asked, of) => (of === undefined ? undefined : parent.schemaOf(asked, of)),
    table,
    fieldSelectors: [],
    fieldSelectorErrorStyle: "default",
    fieldSelectorAliases: {},
    objectHead: Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`),
  };
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
    ageOf(timeAt(scale, "metadata", "creationTimestamp"), { now }),
  ],
};

function column(name: string, type: string): ColumnDefinition {
  return { name, type, format: "", description: name, priority: 0 };
}
