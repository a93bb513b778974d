import { describe, expect, test } from "vitest";
import { createServedSet } from "./served-set.ts";
import {
  describedByRegistration,
  isRegisteredByUnknownServers,
  StorageVersionSource,
  type Describing,
  type RegisteredEntry,
  type ReleaseServing,
} from "./storage-version-source.ts";
import { peerOf, type PeerParts } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { documentOf } from "../../../test/testing/cluster/peers/documents.ts";
import type { PeerView, ResourceQuestion } from "./view.ts";

const entry = (serverId: string, ...servedVersions: readonly string[]): RegisteredEntry => ({
  serverId,
  servedVersions,
});

function sourceOf(objects: Readonly<Record<string, readonly RegisteredEntry[]>>): StorageVersionSource {
  const source = new StorageVersionSource();
  source.reset(Object.entries(objects));
  return source;
}

const question = (group: string, version: string, resource: string, subresource = ""): ResourceQuestion => ({
  ...{ group, version, resource, subresource },
});

describe("a StorageVersion object", () => {
  test('belongs to the group of its served versions, or else to the group in its name, where "core" is the core group', () => {
    const { registered } = sourceOf({
      "core.pods": [entry("a", "v1")],
      "apps.deployments": [entry("a", "apps/v1"), entry("b", "apps/v1", "apps/v1beta1")],
      "networking.k8s.io.ingresses": [entry("a", "v1")],
      "core.events": [entry("a", "events.k8s.io/v1")],
    });
    expect(registered.servers("", "v1", "pods")).toEqual(["a"]);
    expect(registered.servers("apps", "v1", "deployments")).toEqual(["a", "b"]);
    expect(registered.servers("apps", "v1beta1", "deployments")).toEqual(["b"]);
    expect(registered.servers("networking.k8s.io", "v1", "ingresses")).toEqual(["a"]);
    expect(registered.servers("events.k8s.io", "v1", "events")).toEqual(["a"]);
    expect(registered.servers("", "v1", "events")).toEqual([]);
    expect(registered.hasGroupVersion("b", "apps", "v1")).toBe(true);
    expect(registered.hasGroupVersion("b", "", "v1")).toBe(false);
    expect([registered.hasGroup("b", "apps"), registered.hasGroup("b", "")]).toEqual([true, false]);
    expect([registered.has("b"), registered.has("c")]).toEqual([true, false]);
  });

  test("that changes never leaves its resource without the servers that it still lists", () => {
    const source = sourceOf({ "apps.deployments": [entry("a", "apps/v1")] });
    const before = source.registered;
    expect(source.put("apps.deployments", [entry("a", "apps/v1"), entry("b", "apps/v1")])).toBe(true);
    expect(before.servers("apps", "v1", "deployments")).toEqual(["a"]);
    expect(source.registered.servers("apps", "v1", "deployments")).toEqual(["a", "b"]);
    source.remove("apps.deployments");
    expect(source.registered.servers("apps", "v1", "deployments")).toEqual([]);
  });

  test("that is written with the same servers and versions is no change", () => {
    const source = sourceOf({ "apps.deployments": [entry("a", "apps/v1")] });
    const before = source.registered;
    expect(source.put("apps.deployments", [entry("a", "apps/v1")])).toBe(false);
    expect(source.registered).toBe(before);
  });
});

const OF_RELEASE: ReleaseServing = {
  served: createServedSet(
    documentOf({
      "apps/v1": { deployments: "get list", "deployments/scale": "get" },
      "batch/v1": { jobs: "get list" },
      "authorization.k8s.io/v1": { subjectaccessreviews: "create" },
    }),
  ),
  isStored: (_group, resource) => resource !== "subjectaccessreviews",
};
const OBJECTS = {
  "apps.deployments": [entry("b", "apps/v1")],
  "x.example.com.widgets": [entry("b", "x.example.com/v1")],
};

function described(peer: PeerParts, more: Partial<Describing> = {}): PeerView {
  return describedByRegistration(peerOf("b", peer), {
    ...{ registered: sourceOf(OBJECTS).registered, registration: "complete", ofRelease: OF_RELEASE, nowMs: 7 },
    ...more,
  });
}

const SILENT: PeerParts = { serves: undefined };
const DEPLOYMENTS = question("apps", "v1", "deployments");
const REVIEWS = question("authorization.k8s.io", "v1", "subjectaccessreviews");

describe("a peer that has registered everything and has no document", () => {
  test("is described: it serves what it registered, with the verbs and subresources of its release, and no other stored resource", () => {
    const { isDescribed, document } = described(SILENT);
    expect(isDescribed).toBe(true);
    expect(document!.confirmedAtMs).toBe(7);
    const { served } = document!;
    expect(served.has(DEPLOYMENTS)).toBe(true);
    expect([served.hasVerb(DEPLOYMENTS, "list"), served.hasVerb(DEPLOYMENTS, "watch")]).toEqual([true, false]);
    expect(served.has({ ...DEPLOYMENTS, subresource: "scale" })).toBe(true);
    expect(served.has({ ...DEPLOYMENTS, subresource: "nothing" })).toBe(false);
    expect(served.has(question("batch", "v1", "jobs"))).toBe(false);
    expect([served.hasGroup("apps"), served.hasGroup("batch")]).toEqual([true, false]);
  });

  test("serves the resources of its release that are never stored", () => {
    const { served } = described(SILENT).document!;
    expect([served.hasVerb(REVIEWS, "create"), served.hasVerb(REVIEWS, "get")]).toEqual([true, false]);
  });

  test("serves a resource that its release does not have with every verb and subresource", () => {
    const { served } = described(SILENT).document!;
    const widgets = question("x.example.com", "v1", "widgets");
    expect(served.hasVerb(widgets, "anything")).toBe(true);
    expect(served.has({ ...widgets, subresource: "anything" })).toBe(true);
  });

  test("is not described if its release is unknown, because its resources that are never stored are unknown", () => {
    expect(described(SILENT, { ofRelease: undefined }).isDescribed).toBe(false);
  });
});

describe("a peer with a document", () => {
  const DOCUMENT = { serves: { "apps/v1": { deployments: "get" }, "batch/v1": { jobs: "get" } } };

  test("serves what the document or the StorageVersion objects list; the document decides about verbs, subresources and resources that are never stored", () => {
    const { served } = described(DOCUMENT).document!;
    expect([served.hasVerb(DEPLOYMENTS, "get"), served.hasVerb(DEPLOYMENTS, "list")]).toEqual([true, false]);
    expect(served.has({ ...DEPLOYMENTS, subresource: "scale" })).toBe(false);
    expect(served.has(question("batch", "v1", "jobs"))).toBe(true);
    expect(served.has(question("x.example.com", "v1", "widgets"))).toBe(true);
    expect(served.has(REVIEWS)).toBe(false);
  });

  test("of an earlier run serves everything that it has registered since", () => {
    const { isDescribed, document } = described({ ...DOCUMENT, isDescribed: false });
    expect(isDescribed).toBe(true);
    expect(document!.served.hasVerb(DEPLOYMENTS, "list")).toBe(true);
    expect(document!.served.hasVerb(REVIEWS, "create")).toBe(true);
  });
});

describe("a peer whose registration is not complete", () => {
  test.each(["never", "pending"] as const)(
    "(%s) serves what it has registered, and is not described",
    (registration) => {
      const { isDescribed, document } = described(SILENT, { registration });
      expect(isDescribed).toBe(false);
      expect(document!.served.has(DEPLOYMENTS)).toBe(true);
      expect(document!.served.has(REVIEWS)).toBe(false);
    },
  );

  test("is described by its document if it never registers, but not while its registration is pending", () => {
    const registered = sourceOf({}).registered;
    expect(described({ serves: {} }, { registration: "never", registered }).isDescribed).toBe(true);
    expect(described({ serves: {} }, { registration: "pending", registered }).isDescribed).toBe(false);
    expect(described(SILENT, { registration: "pending", registered }).document).toBeUndefined();
  });
});

test("a resource that only unknown servers registered is decided locally, and one that no server registered is not", () => {
  const isOfCluster = (id: string): boolean => id === "a";
  expect(isRegisteredByUnknownServers([], isOfCluster)).toBe(false);
  expect(isRegisteredByUnknownServers(["x"], isOfCluster)).toBe(true);
  expect(isRegisteredByUnknownServers(["x", "a"], isOfCluster)).toBe(false);
});
