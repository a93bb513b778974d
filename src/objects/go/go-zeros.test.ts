import { describe, expect, test } from "vitest";

import { protobufTables } from "../catalog/protobuf-tables.ts";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import { fillStatusItems, goZeros, omitZeros } from "./go-zeros.ts";
import type { StructSchema } from "../schema.ts";
import { decodeTyped } from "../typed-decode.ts";

const zeros = goZeros(protobufTables);

function schemaOf(group: string, kind: string): StructSchema {
  const schema = openSchemas("1.36").kind(group, "v1", kind);
  if (schema === undefined) throw new Error(`no schema of ${kind}`);
  return schema;
}

const DEPLOYMENT = schemaOf("apps", "Deployment");

function decoded(schema: StructSchema, object: JsonObject): JsonObject {
  return decodeTyped(object, schema, { zeros }).object;
}

describe("zeros", () => {
  test("of omitempty fields are the same as absent", () => {
    const spec = { paused: false, minReadySeconds: 0, template: { spec: { hostNetwork: false, dnsPolicy: "" } } };
    expect(decoded(DEPLOYMENT, { spec })).toEqual({ spec: { template: { spec: {} } } });
  });

  test("of pointers are kept", () => {
    const spec = { replicas: 0, template: { spec: { terminationGracePeriodSeconds: 0, enableServiceLinks: false } } };
    expect(decoded(DEPLOYMENT, { spec })).toEqual({ spec });
  });

  test("of fields that are always written are kept", () => {
    const spec = { template: { spec: { containers: [{ name: "" }] } } };
    expect(decoded(DEPLOYMENT, { spec })).toEqual({ spec });
  });

  test("in maps are kept", () => {
    expect(decoded(schemaOf("", "ConfigMap"), { data: { a: "" } })).toEqual({ data: { a: "" } });
  });

  test("are kept if there is no table of omitempty fields", () => {
    expect(decodeTyped({ spec: { paused: false } }, DEPLOYMENT).object).toEqual({ spec: { paused: false } });
  });

  test("are omitted from a merged object, as are empty lists and maps", () => {
    const object: JsonObject = { spec: { paused: false, replicas: 0, template: { spec: { nodeSelector: {} } } } };
    omitZeros(object, DEPLOYMENT, zeros);
    expect(object).toEqual({ spec: { replicas: 0, template: { spec: {} } } });
  });
});

describe("an empty list outside of the spec", () => {
  test("is kept if Go always writes it", () => {
    expect(decoded(schemaOf("discovery.k8s.io", "EndpointSlice"), { ports: [] })).toEqual({ ports: [] });
  });

  test("is omitted if Go does not write it", () => {
    expect(decoded(schemaOf("", "Endpoints"), { subsets: [] })).toEqual({});
  });
});

test("items of lists in a status have the fields that Go always writes", () => {
  const node: JsonObject = { status: { conditions: [{ type: "Ready" }], addresses: [{}], phase: "Running" } };
  fillStatusItems(node, schemaOf("", "Node"), zeros);
  expect(node).toEqual({
    status: {
      conditions: [{ type: "Ready", status: "", lastHeartbeatTime: null, lastTransitionTime: null }],
      addresses: [{ type: "", address: "" }],
      phase: "Running",
    },
  });
});
