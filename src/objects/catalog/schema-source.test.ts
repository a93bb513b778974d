import { describe, expect, test } from "vitest";

import type { FieldSchema, StructSchema } from "../schema.ts";
import { modelName, openSchemas } from "./schema-source.ts";
import type { ReleaseName } from "./release.ts";

function fieldAt(struct: StructSchema | undefined, path: string): FieldSchema | undefined {
  let current: FieldSchema | undefined;
  let within = struct;
  for (const name of path.split(".")) {
    current = within?.fields.get(name);
    within = (current?.items ?? current)?.struct;
  }
  return current;
}

function podField(release: ReleaseName, path: string): FieldSchema | undefined {
  return fieldAt(openSchemas(release).kind("", "v1", "Pod"), path);
}

describe("in the schemas of a release,", () => {
  test("a kind resolves to its struct with its OpenAPI name", () => {
    expect(openSchemas("1.36").kind("", "v1", "Pod")?.name).toBe("io.k8s.api.core.v1.Pod");
    expect(openSchemas("1.36").kind("apps", "v1", "DeploymentList")?.name).toBe("io.k8s.api.apps.v1.DeploymentList");
    expect(openSchemas("1.36").kind("", "v1", "Status")?.name).toBe("io.k8s.apimachinery.pkg.apis.meta.v1.Status");
  });

  test("option kinds that exist in many groups resolve in each of these groups", () => {
    const deleteOptions = openSchemas("1.36").kind("apps", "v1", "DeleteOptions");
    expect(deleteOptions?.fields.has("propagationPolicy")).toBe(true);
    expect(deleteOptions).toBe(openSchemas("1.36").kind("batch", "v1", "DeleteOptions"));
    expect(openSchemas("1.36").kind("example.com", "v1", "DeleteOptions")).toBeUndefined();
  });

  test("a model lists the kinds under which the release registers it, in every group version that the release knows", () => {
    const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
    const groupVersions = (release: ReleaseName, name: string): string[] =>
      openSchemas(release)
        .kindsOf(name)
        .map(({ group, version }) => `${group}/${version}`);
    expect(openSchemas("1.36").kindsOf("io.k8s.api.core.v1.Pod")).toEqual([{ group: "", version: "v1", kind: "Pod" }]);
    expect(openSchemas("1.36").kindsOf("io.k8s.api.core.v1.PodSpec")).toEqual([]);
    expect(openSchemas("1.28").kindsOf("io.k8s.api.resource.v1.ResourceClaim")).toEqual([]);
    // Kubernetes 1.36 registers these in 60 group versions, many of which it has not served for years.
    const shared = groupVersions("1.36", `${meta}.DeleteOptions`);
    expect(shared).toHaveLength(60);
    expect(shared).toEqual(groupVersions("1.36", `${meta}.WatchEvent`));
    expect(shared).toEqual(expect.arrayContaining(["/v1", "apps/v1beta1", "imagepolicy.k8s.io/v1alpha1"]));
    expect(groupVersions("1.30", `${meta}.Status`)).toEqual(["/v1", "resource.k8s.io/v1alpha2"]);
    expect(groupVersions("1.36", `${meta}.Status`)).toEqual(["/v1"]);
  });

  test("a struct has the unions that OpenAPI publishes", () => {
    const profile = openSchemas("1.36").struct("io.k8s.api.core.v1.SeccompProfile");
    expect(profile?.unions).toEqual([
      { discriminator: "type", "fields-to-discriminateBy": { localhostProfile: "LocalhostProfile" } },
    ]);
    expect(openSchemas("1.36").struct("io.k8s.api.core.v1.PodSpec")?.unions).toBeUndefined();
  });

  test("unknown kinds, groups and structs are undefined", () => {
    expect(openSchemas("1.36").kind("", "v1", "Pot")).toBeUndefined();
    expect(openSchemas("1.36").kind("toString", "v1", "constructor")).toBeUndefined();
    expect(openSchemas("1.36").struct("toString")).toBeUndefined();
  });

  test("a kind exists only in the releases that have it", () => {
    expect(openSchemas("1.36").kind("lifecycle.k8s.io", "v1alpha1", "EvictionRequest")).toBeUndefined();
    expect(openSchemas("1.37").kind("lifecycle.k8s.io", "v1alpha1", "EvictionRequest")).toBeDefined();
    expect(openSchemas("1.28").kind("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema")).toBeUndefined();
    expect(openSchemas("1.28").kind("flowcontrol.apiserver.k8s.io", "v1beta2", "FlowSchema")).toBeDefined();
  });

  test("a field exists only in the releases that have it", () => {
    expect(podField("1.29", "metadata.managedFields")?.listType).toBeUndefined();
    expect(podField("1.30", "metadata.managedFields")?.listType).toBe("atomic");
  });

  test("times are strings of format date-time; only the model name distinguishes Time from MicroTime", () => {
    const created = podField("1.36", "metadata.creationTimestamp");
    expect(created).toMatchObject({ type: "string", format: "date-time", struct: undefined });
    const renewed = fieldAt(openSchemas("1.36").kind("coordination.k8s.io", "v1", "Lease"), "spec.renewTime");
    expect(renewed).toMatchObject({ type: "string", format: "date-time" });
    expect(created && modelName(created)).toBe("io.k8s.apimachinery.pkg.apis.meta.v1.Time");
    expect(renewed && modelName(renewed)).toBe("io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime");
  });

  test("quantities and int-or-strings are marked by flags", () => {
    expect(podField("1.36", "spec.containers.resources.limits")?.items).toMatchObject({
      type: "string",
      quantity: true,
    });
    expect(podField("1.36", "spec.containers.livenessProbe.httpGet.port")).toMatchObject({
      type: "string",
      format: "int-or-string",
      intOrString: true,
      required: true,
    });
  });

  test("raw JSON has the type any and is marked by flags", () => {
    expect(podField("1.36", "metadata.managedFields.fieldsV1")).toMatchObject({ type: "any", preserveUnknown: true });
    const revision = openSchemas("1.36").kind("apps", "v1", "ControllerRevision");
    expect(fieldAt(revision, "data")).toMatchObject({ type: "any", embeddedResource: true, preserveUnknown: true });
    const crd = openSchemas("1.36").kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    expect(fieldAt(crd, "spec.versions.schema.openAPIV3Schema.default")).toMatchObject({
      type: "any",
      preserveUnknown: true,
    });
  });

  test("list types, merge keys, strategies, enums and defaults are included", () => {
    expect(podField("1.36", "spec.containers")).toMatchObject({
      type: "array",
      required: true,
      listType: "map",
      listMapKeys: ["name"],
      patchMergeKey: "name",
      patchStrategy: ["merge"],
    });
    expect(podField("1.36", "spec.volumes")?.patchStrategy).toEqual(["merge", "retainKeys"]);
    expect(podField("1.36", "spec.restartPolicy")?.enum).toEqual(["Always", "Never", "OnFailure"]);
    expect(podField("1.36", "spec.containers.ports.protocol")?.default).toBe("TCP");
    expect(podField("1.36", "metadata.labels")).toMatchObject({ type: "map", items: { type: "string" } });
  });

  test("a recursive type refers to itself", () => {
    const crd = openSchemas("1.36").kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    const props = fieldAt(crd, "spec.versions.schema.openAPIV3Schema")?.struct;
    expect(props?.fields.get("not")?.struct).toBe(props);
    expect(props?.fields.get("properties")?.items?.struct).toBe(props);
  });

  test("all callers share one frozen schema of a release", () => {
    expect(podField("1.36", "spec.nodeName")).toBe(podField("1.36", "spec.nodeName"));
    expect(Object.isFrozen(podField("1.36", "spec.containers"))).toBe(true);
    expect(Object.isFrozen(podField("1.36", "spec.containers")?.listMapKeys)).toBe(true);
  });
});
