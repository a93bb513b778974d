import { describe, expect, test } from "vitest";
import { readManifests } from "../upgrade/manifests/read-manifests.ts";
import { countRejected, examineManifests, type ManifestFinding } from "./manifests.ts";
import { pathApis } from "./path-apis.ts";
import { releasesBetween } from "./plan.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";

function examine(from: ReleaseName, to: ReleaseName, text: string): readonly ManifestFinding[] {
  const releases = releasesBetween(from, to);
  const { manifests } = readManifests([{ path: "a.yaml", text }]);
  return examineManifests(manifests, { apis: pathApis(releases), releases, way: "up" }).findings;
}

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

  test("reports an API version that an older release removed, and an unknown one, as rejected", () => {
    const flow = examine("1.33", "1.34", "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\n");
    expect(flow).toMatchObject([{ kind: "rejected", sentence: expect.stringContaining("not served from 1.32 on") }]);
    const ingress = examine("1.33", "1.34", "apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\n");
    expect(ingress).toMatchObject([{ kind: "rejected", sentence: expect.stringContaining("networking.k8s.io/v1,") }]);
    expect(examine("1.33", "1.34", "apiVersion: apps/v3\nkind: Deployment\n")).toMatchObject([{ kind: "rejected" }]);
    expect(countRejected({ objects: 2, findings: [...flow, ...ingress] })).toBe(2);
  });

  test("reports a custom resource as not served, unless a CRD among the manifests serves its version", () => {
    const custom = "apiVersion: example.com/v1\nkind: Thing\n";
    const found = examine("1.33", "1.34", custom);
    expect(found).toMatchObject([{ kind: "not-served", sentence: expect.stringContaining("Custom resources") }]);
    expect(countRejected({ objects: 1, findings: found })).toBe(0);
    const crd =
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
      "spec: {group: example.com, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n---\n";
    expect(examine("1.33", "1.34", crd + custom)).toEqual([]);
    expect(examine("1.33", "1.34", crd + custom.replace("/v1", "/v2"))).toMatchObject([{ kind: "rejected" }]);
  });

  test("does not report an API version that does not change", () => {
    expect(examine("1.33", "1.36", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n")).toEqual([]);
  });
});
