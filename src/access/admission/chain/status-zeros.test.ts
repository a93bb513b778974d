import { expect, test } from "vitest";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { createStatusZeros } from "./status-zeros.ts";

const withStatus = createStatusZeros(protobufTables);

test.each<[apiVersion: string, kind: string, status: unknown]>([
  ["v1", "Pod", {}],
  ["v1", "Service", { loadBalancer: {} }],
  ["autoscaling/v1", "Scale", { replicas: 0 }],
  ["authentication.k8s.io/v1", "TokenRequest", { token: "", expirationTimestamp: null }],
  ["v1", "ConfigMap", undefined],
  ["example.com/v1", "Pod", undefined],
])(
  "an object without a status gets the zero value of the status of its kind: %s %s has %j",
  (apiVersion, kind, status) => {
    expect(withStatus({ apiVersion, kind })["status"]).toEqual(status);
  },
);

test("an existing status is kept, and each call returns a new status object", () => {
  const pod: JsonObject = { apiVersion: "v1", kind: "Pod", status: { phase: "Running" } };
  expect(withStatus(pod)).toBe(pod);
  const service = { apiVersion: "v1", kind: "Service" };
  expect(withStatus(service)["status"]).not.toBe(withStatus(service)["status"]);
  expect(service).not.toHaveProperty("status");
});
