/** Mutating policies for tests, and pods to which they apply. */
import { celEnvironment } from "../../../../../src/objects/cel/environment.ts";
import type { JsonObject } from "../../../../../src/meta/json.ts";
import { StatusError } from "../../../../../src/meta/status-error.ts";
import { DEDUCED } from "../../../../../src/objects/managed-fields/shape.ts";
import type { FieldSchema, StructSchema } from "../../../../../src/objects/schema.ts";
import type { AdmissionPlugin } from "../../../../../src/access/admission/admission.ts";
import { attributes, pod, readerOf } from "../plugins/attributes.ts";
import type { MutatedAttributes } from "../../../../../src/access/admission/webhooks/mutating.ts";
import { compileMutatingPolicy } from "../../../../../src/access/admission/policies/compiled-mutations.ts";
import {
  createMutatingAdmissionPolicy,
  type MutatingPolicyPorts,
} from "../../../../../src/access/admission/policies/mutating-policy.ts";
import { createPolicyTables } from "../../../../../src/access/admission/policies/policy-table.ts";
import { testParamKinds } from "./policies.ts";
import { gatesOf } from "../../../../../src/objects/catalog/release-gates.ts";

function structOf(fields: Readonly<Record<string, FieldSchema>>): StructSchema {
  return { name: "x", fields: new Map(Object.entries(fields)), mapType: undefined, preserveUnknown: false };
}

const TEXT: FieldSchema = { ...DEDUCED, type: "string" };
const INTEGER: FieldSchema = { ...DEDUCED, type: "integer" };
const TEXTS: FieldSchema = { ...DEDUCED, type: "map", items: TEXT };

function within(fields: Readonly<Record<string, FieldSchema>>): FieldSchema {
  return { ...DEDUCED, type: "struct", struct: structOf(fields) };
}

const CONTAINER = within({
  name: TEXT,
  image: TEXT,
  args: { ...DEDUCED, type: "array", items: TEXT, listType: "atomic" },
});

const POD = structOf({
  apiVersion: TEXT,
  kind: TEXT,
  metadata: within({ name: TEXT, namespace: TEXT, labels: TEXTS }),
  spec: within({
    nodeName: TEXT,
    priority: INTEGER,
    nodeSelector: { ...TEXTS, mapType: "atomic" },
    containers: { ...DEDUCED, type: "array", items: CONTAINER, listType: "map", listMapKeys: ["name"] },
  }),
});

export function mutatingPlugin(
  policies: readonly JsonObject[],
  bindings: readonly JsonObject[],
  ports: Partial<MutatingPolicyPorts> = {},
): AdmissionPlugin {
  const environment = celEnvironment(gatesOf("1.36"));
  const tables = createPolicyTables((object) => compileMutatingPolicy(object, environment));
  tables.policies.reset(policies);
  tables.bindings.reset(bindings);
  return createMutatingAdmissionPolicy({
    tables,
    objects: readerOf({ namespaces: [{ metadata: { name: "ns" } }] }),
    paramKinds: testParamKinds,
    authorizer: () => ({ allowed: true, reason: "" }),
    schemaOf: () => POD,
    decode: (object) => ({ ...object, status: {} }),
    ...ports,
  });
}

export const TEST_POD: JsonObject = pod({
  nodeName: "n",
  containers: [
    { name: "a", image: "x" },
    { name: "b", image: "y" },
  ],
});

/** The mutated pod, or the error that the client receives. */
export async function mutatedPod(
  plugin: AdmissionPlugin,
  given: Partial<Omit<MutatedAttributes, "object">> = {},
): Promise<JsonObject | StatusError> {
  try {
    return (await plugin.mutate?.(attributes({ object: TEST_POD, ...given }))) ?? TEST_POD;
  } catch (thrown) {
    if (thrown instanceof StatusError) return thrown;
    throw thrown;
  }
}
