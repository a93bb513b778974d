import { describe, expect, test } from "vitest";
import { examineManifests, readManifests, type Manifest, type ManifestFinding } from "./manifests.ts";
import { pathApis } from "./path-apis.ts";
import { releasesBetween } from "./plan.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";

function examine(from: ReleaseName, to: ReleaseName, text: string): readonly ManifestFinding[] {
  const releases = releasesBetween(from, to);
  const manifests = readManifests([{ path: "a.yaml", text }]) as Manifest[];
  return examineManifests(manifests, { apis: pathApis(releases), releases, way: "up" }).findings;
}

describe("readManifests", () => {
  test("reads each document of a file, and skips empty ones", () => {
    const text = "# none\n---\napiVersion: v1\nkind: A\n--- # two\napiVersion: v1\nkind: B\ndata: {x: '---'}\n---\n";
    const read = readManifests([{ path: "a.yaml", text }]) as Manifest[];
    expect(read.map(({ object }) => object["kind"])).toEqual(["A", "B"]);
  });

  test("splits lists into their items, and parses JSON files as JSON", () => {
    const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: [{ apiVersion: "v1", kind: "A" }] });
    expect(readManifests([{ path: "a.json", text }])).toEqual([
      { file: "a.json", object: { apiVersion: "v1", kind: "A" } },
    ]);
  });

  test("skips documents that are not Kubernetes objects", () => {
    expect(readManifests([{ path: "values.yaml", text: "colour: blue\n" }])).toEqual([]);
  });

  test.each([
    ["a.yaml", "a: [1\n"],
    ["b.json", "{"],
  ])("reports that %s cannot be read in one sentence that contains the file name", (path, text) => {
    expect(readManifests([{ path, text }])).toMatch(new RegExp(`^${path} cannot be read: [^\\n]+$`));
  });
});

describe("examineManifests", () => {
  test("reports an API version that is removed, with the release and its replacement", () => {
    const text = "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\nmetadata: {name: mine}\n";
    expect(examine("1.31", "1.33", text)).toEqual([
      {
        ...{ kind: "vanishes", file: "a.yaml", objectKind: "FlowSchema", name: "mine", release: "1.32" },
        apiVersion: "flowcontrol.apiserver.k8s.io/v1beta3",
        replacement: "flowcontrol.apiserver.k8s.io/v1 FlowSchema",
        sentence: "not served from 1.32 on; use flowcontrol.apiserver.k8s.io/v1 FlowSchema",
      },
    ]);
  });

  test("reports an API version that is added and later stored in another version by two findings", () => {
    const text = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n";
    expect(examine("1.33", "1.36", text)).toMatchObject([
      { kind: "appears", release: "1.34" },
      { kind: "changes-encoding", release: "1.35", sentence: expect.stringContaining("v1beta2 (1.34), then") },
    ]);
  });

  test("reports a deprecated API version that is still served, with its replacement", () => {
    const [found] = examine("1.33", "1.34", "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n");
    expect(found).toMatchObject({ kind: "deprecated", replacement: "discovery.k8s.io/v1 EndpointSlice" });
  });

  test("reports an API version that no release of the plan serves, with the releases that serve it, if any", () => {
    const old = examine("1.33", "1.34", "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\n");
    expect(old).toMatchObject([{ kind: "not-served", sentence: "served by 1.28 to 1.31 only" }]);
    const custom = examine("1.33", "1.34", "apiVersion: example.com/v1\nkind: Thing\n");
    expect(custom).toMatchObject([{ kind: "not-served", sentence: expect.stringContaining("custom resource") }]);
  });

  test("does not report an API version that does not change", () => {
    expect(examine("1.33", "1.36", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")).toEqual([]);
  });
});
