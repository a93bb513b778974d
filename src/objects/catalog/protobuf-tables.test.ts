import { describe, expect, test } from "vitest";

import { protobufTables } from "./protobuf-tables.ts";

describe("protobuf tables", () => {
  test.each([
    ["v1", "Pod", "k8s.io.api.core.v1.Pod"],
    ["apps/v1", "Deployment", "k8s.io.api.apps.v1.Deployment"],
    ["rbac.authorization.k8s.io/v1", "Role", "k8s.io.api.rbac.v1.Role"],
    ["flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "k8s.io.api.flowcontrol.v1.FlowSchema"],
    ["internal.apiserver.k8s.io/v1alpha1", "StorageVersion", "k8s.io.api.apiserverinternal.v1alpha1.StorageVersion"],
    [
      "apiextensions.k8s.io/v1",
      "CustomResourceDefinition",
      "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    ],
    ["apiregistration.k8s.io/v1", "APIService", "k8s.io.kube_aggregator.pkg.apis.apiregistration.v1.APIService"],
  ])("map %s %s to the message %s", (apiVersion, kind, message) => {
    expect(protobufTables().messageFor(apiVersion, kind)).toBe(message);
  });

  test("map option kinds to one message under every group version, even an unknown one", () => {
    for (const apiVersion of ["v1", "apps/v1", "meta.k8s.io/v1", "example.com/v1"]) {
      expect(protobufTables().messageFor(apiVersion, "DeleteOptions")).toBe(
        "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
      );
    }
    expect(protobufTables().messageFor("v1", "Status")).toBe("k8s.io.apimachinery.pkg.apis.meta.v1.Status");
    expect(protobufTables().messageFor("apps/v1", "Status")).toBeUndefined();
  });

  test("return undefined for unknown kinds and messages", () => {
    expect(protobufTables().messageFor("v1", "Pot")).toBeUndefined();
    expect(protobufTables().messageFor("example.com/v1", "Pod")).toBeUndefined();
    expect(protobufTables().messageFor("constructor", "constructor")).toBeUndefined();
    expect(protobufTables().messageFor("v1", "toString")).toBeUndefined();
    expect(protobufTables().message("k8s.io.api.core.v1.constructor")).toBeUndefined();
    expect(protobufTables().message("constructor")).toBeUndefined();
    expect(protobufTables().message("")).toBeUndefined();
  });

  test("contain the JSON name, shape and type of each field", () => {
    const spec = protobufTables().message("k8s.io.api.apps.v1.DeploymentSpec");
    expect(spec?.byNumber[1]).toMatchObject({ name: "replicas", shape: "pointer", scalar: "int32", omitEmpty: true });
    expect(spec?.byNumber[3]).toMatchObject({
      name: "template",
      shape: "value",
      scalar: undefined,
      message: "k8s.io.api.core.v1.PodTemplateSpec",
      omitEmpty: false,
    });
    const volume = protobufTables().message("k8s.io.api.core.v1.Volume");
    expect(volume?.byNumber[2]).toMatchObject({ shape: "inline", message: "k8s.io.api.core.v1.VolumeSource" });
  });

  test("contain every message that a field refers to, including messages without fields", () => {
    const seen = new Set<string>();
    const missing: string[] = [];
    const visit = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      const table = protobufTables().message(name);
      if (table === undefined) missing.push(name);
      for (const { message } of table?.fields ?? []) if (message !== undefined) visit(message);
    };
    visit("k8s.io.api.core.v1.PodList");
    visit("k8s.io.api.scheduling.v1alpha2.PodGroupList");
    visit("k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionList");
    expect(missing).toEqual([]);
    expect(seen.size).toBeGreaterThan(150);
  });
});
