import { describe, expect, test } from "vitest";

import type { JsonObject } from "../../meta/json.ts";
import { dnsSubdomainErrors } from "../../meta/names.ts";
import type { ServedResource } from "./resource.ts";
import { updateMetadataErrors } from "./update-metadata.ts";

const UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified";

function told(key: string, sent: JsonObject, existing: JsonObject = {}): string[] {
  const [group = "", resource = ""] = key.split("/");
  const stored = { namespaced: true, strategy: { nameRule: dnsSubdomainErrors } };
  const served = { stored, groupResource: { group, resource }, schema: {} } as unknown as ServedResource;
  const metadata = { name: "x", namespace: "default", ...sent };
  const errors = updateMetadataErrors(served, { metadata, existing, sent }, "main");
  return [...errors].map(({ field, message }) => `${field}: ${message}`);
}

describe("an update with an invalid owner reference", () => {
  test.each([
    ["apps/deployments", 3],
    ["/configmaps", 4],
    ["discovery.k8s.io/endpointslices", 3],
    ["/events", 2],
    ["events.k8s.io/events", 3],
  ])("of %s reports the error %i times", (key, times) => {
    expect(told(key, { ownerReferences: [{ apiVersion: "v1", kind: "K", name: "", uid: "u" }] })).toHaveLength(times);
  });
});

describe("a finalizer", () => {
  test("without a prefix is reported with its index", () => {
    expect(told("apps/deployments", { finalizers: ["a.b/c", "hold"] })).toEqual([
      `metadata.finalizers[1]: Invalid value: "hold": ${UNQUALIFIED}`,
    ]);
  });

  test("without a prefix is valid for some kinds", () => {
    expect(told("coordination.k8s.io/leases", { finalizers: ["hold"] })).toEqual([]);
  });

  test("cannot be added to an object that is being deleted", () => {
    const existing = { deletionTimestamp: "2030-01-01T00:00:00Z" };
    const why =
      'no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/c", "a.b/d"}';
    expect(told("/events", { finalizers: ["a.b/d", "a.b/c"] }, existing)).toEqual([
      `metadata.finalizers: Forbidden: ${why}`,
    ]);
  });
});

test("an event cannot be an owner", () => {
  const owner = { apiVersion: "v1", kind: "Event", name: "x", uid: "u" };
  expect(told("policy/poddisruptionbudgets", { ownerReferences: [owner] })).toEqual(
    Array.from(
      { length: 2 },
      () =>
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: /v1, Kind=Event is disallowed from being an owner',
    ),
  );
});

test("an update cannot change the uid, deletionTimestamp and deletionGracePeriodSeconds", () => {
  const sent = { uid: "other", deletionTimestamp: "2030-01-01T00:00:00Z", deletionGracePeriodSeconds: 3 };
  expect(told("policy/poddisruptionbudgets", sent, { uid: "u", deletionGracePeriodSeconds: 5 })).toEqual([
    'metadata.uid: Invalid value: "other": field is immutable',
    'metadata.deletionTimestamp: Invalid value: "2030-01-01T00:00:00Z": field is immutable',
    "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable",
  ]);
});

test("a manager name in managedFields that is too long is rejected", () => {
  expect(told("policy/poddisruptionbudgets", { managedFields: [{ manager: "x".repeat(200) }] })[0]).toBe(
    "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
  );
});
