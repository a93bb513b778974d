import { expect, test } from "vitest";
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import { createLocator } from "./resource-of-key.ts";

const locate = createLocator("/registry/");

test.each([
  ["pods/default/web", "pods", "default", "web"],
  ["services/specs/default/web", "services", "default", "web"],
  ["services/endpoints/default/web", "endpoints", "default", "web"],
  ["minions/node-1", "nodes", "", "node-1"],
  ["controllers/default/rc", "replicationcontrollers", "default", "rc"],
  ["ingress/default/i", "ingresses", "default", "i"],
  ["events/default/e", "events", "default", "e"],
  ["clusterroles/system:node", "clusterroles", "", "system:node"],
  ["apiregistration.k8s.io/apiservices/v1.apps", "apiservices", "", "v1.apps"],
  ["apiextensions.k8s.io/customresourcedefinitions/a.b.c", "customresourcedefinitions", "", "a.b.c"],
  ["podschedulingcontexts/default/gone-since-1.32", "podschedulingcontexts", "default", "gone-since-1.32"],
])("%s is the key of an object of %s", (key, resource, namespace, name) => {
  expect(locate(`/registry/${key}`)).toMatchObject({ kind: "object", place: { resource }, namespace, name });
});

test.each([
  "ranges/serviceips/x",
  "ranges/evenkeel/ports/1",
  "peerserverleases/a",
  "masterleases/10.0.0.1",
  "evenkeel/served/a/b",
])("%s is the key of a record of the servers themselves", (key) => {
  expect(locate(`/registry/${key}`)).toEqual({ kind: "private" });
});

test.each([
  ["example.com/widgets/default/w", "example.com/widgets"],
  ["example.com/clusterwide", "example.com"],
  ["podsecuritypolicy/restricted", "podsecuritypolicy"],
  ["services/allocations/x", "services"],
  ["pods/", "pods"],
  ["pods", "pods"],
  ["", ""],
  ["/", ""],
  [`${"x".repeat(1_000)}/y`, "x".repeat(256)],
])("%s is a key that no release uses", (key, prefix) => {
  expect(locate(`/registry/${key}`)).toEqual({ kind: "unknown", prefix });
});

test("the key of a namespaced resource with one segment is an object without a namespace", () => {
  expect(locate("/registry/pods/alone")).toMatchObject({ kind: "object", namespace: "", name: "alone" });
});

test("every prefix belongs to one resource, and the prefix of events to the core group", () => {
  const prefixes = storagePlaces().map(({ prefix }) => prefix);
  expect(new Set(prefixes).size).toBe(prefixes.length);
  expect(storagePlaces().find(({ prefix }) => prefix === "events")).toMatchObject({ group: "", resource: "events" });
});
