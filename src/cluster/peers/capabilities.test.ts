import { describe, expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import type { CapabilityNeed, PeerView } from "./view.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { peerOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { createSupports, createUnmetNeed } from "./capabilities.ts";

const SERVICES = { group: "", version: "v1", resource: "services", subresource: "" };

function need(release: ReleaseName, url: string, options: { method?: string; contentType?: string } = {}) {
  const { method = "GET", contentType } = options;
  const headers = contentType === undefined ? {} : { "content-type": contentType };
  return createUnmetNeed(openCatalog({ release }), "extended")(infoRequest({ method, url, headers }));
}

describe("a field selector", () => {
  const CLUSTER_IP = "/api/v1/services?fieldSelector=spec.clusterIP%3D10.0.0.1";

  test("that a newer release added is a need only on servers of older releases", () => {
    expect(need("1.30", CLUSTER_IP)).toEqual({ kind: "field-selector", labels: ["spec.clusterIP"] });
    expect(need("1.31", CLUSTER_IP)).toBeUndefined();
  });

  test.each([
    ["GET", "/api/v1/watch/services?fieldSelector=spec.clusterIP%3Dx"],
    ["GET", "/api/v1/services?watch=1&fieldSelector=spec.clusterIP%3Dx,metadata.name%3Dy"],
    ["DELETE", "/api/v1/namespaces/a/services?fieldSelector=spec.clusterIP!%3Dx"],
  ])("that the local server does not know is a need of %s %s", (method, url) => {
    expect(need("1.30", url, { method })).toEqual({ kind: "field-selector", labels: ["spec.clusterIP"] });
  });

  test.each([
    "/api/v1/services",
    "/api/v1/services?fieldSelector=",
    "/api/v1/services?fieldSelector=metadata.name%3Dx",
    "/api/v1/services?fieldSelector=spec.clusterIP",
    "/api/v1/namespaces/a/services/b?fieldSelector=spec.clusterIP%3Dx",
    "/apis/nobody.example/v1/things?fieldSelector=spec.x%3Dy",
  ])("is no need of %s", (url) => {
    expect(need("1.30", url)).toBeUndefined();
  });

  test("is supported by peers whose release has it, if that release is known", () => {
    const supports = createSupports();
    const asked = (release: string | undefined, ...labels: string[]): boolean =>
      supports(peerOf("b", { release }), SERVICES, { kind: "field-selector", labels });
    expect(asked("1.31", "spec.clusterIP")).toBe(true);
    expect(asked("1.31", "spec.clusterIP", "metadata.name")).toBe(true);
    expect(asked("1.31", "spec.clusterIP", "spec.nothing")).toBe(false);
    expect(asked("1.30", "spec.clusterIP")).toBe(false);
    expect(asked("1.99", "spec.clusterIP")).toBe(false);
    expect(asked(undefined, "spec.clusterIP")).toBe(false);
    const unknown = { ...SERVICES, resource: "nothings" };
    const label: CapabilityNeed = { kind: "field-selector", labels: ["metadata.name"] };
    expect(supports(peerOf("b", { release: "1.31" }), unknown, label)).toBe(false);
  });
});

describe("a patch type", () => {
  const patch = (contentType?: string) =>
    need("1.36", "/api/v1/namespaces/a/services/b", {
      method: "PATCH",
      ...(contentType === undefined ? {} : { contentType }),
    });

  test("is a need if the local server cannot apply it", () => {
    expect(patch("application/merge-patch+json")).toBeUndefined();
    expect(patch("application/json-patch+json; charset=utf-8")).toBeUndefined();
    const patchType = "application/apply-patch+cbor";
    expect(patch(`${patchType};x=y`)).toEqual({ kind: "patch-type", patchType });
    expect(patch()).toEqual({ kind: "patch-type", patchType: "" });
  });

  test("is supported by a kube-apiserver if it is one of Kubernetes' patch types", () => {
    const supports = createSupports();
    const kube = { version: undefined, assumedRelease: undefined, proxiesToPeers: undefined };
    const asked = (peer: PeerView, patchType: string): boolean =>
      supports(peer, SERVICES, { kind: "patch-type", patchType });
    expect(asked(peerOf("b", { kube }), "application/apply-patch+cbor")).toBe(true);
    expect(asked(peerOf("b", { kube }), "application/x")).toBe(false);
    expect(asked(peerOf("b"), "application/apply-patch+cbor")).toBe(false);
  });
});

test("with --peer-routing=documents no request has a need for a feature of a peer", () => {
  const unmet = createUnmetNeed(openCatalog({ release: "1.30" }), "documents");
  expect(unmet(infoRequest({ url: "/api/v1/services?fieldSelector=spec.clusterIP%3Dx" }))).toBeUndefined();
});
