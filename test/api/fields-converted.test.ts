/**
 * Tests of fields that a newer server has stored, after an older server has updated the object in an API version with
 * another structure.
 */
import { expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { header, startServer, type ApiTestResponse, type Json } from "./start.ts";

function outcome(response: ApiTestResponse): [number, string | undefined] {
  return [response.status, header(response, "warning")];
}

test("an update by 1.33 keeps unknown fields of claim requests, which are flat in v1beta1 and nested in v1beta2", async () => {
  const world = new World({ seed: 1 });
  const versions = ["resource.k8s.io/v1beta1=true", "resource.k8s.io/v1beta2=true"];
  await using young = await startServer({ world, release: "1.36", strictRelease: false, runtimeConfig: versions });
  await using old = await startServer({ world, release: "1.33", strictRelease: false, runtimeConfig: versions });
  const path = (version: string): string => `/apis/resource.k8s.io/${version}/namespaces/default/resourceclaims`;
  const request = {
    name: "r",
    exactly: {
      deviceClassName: "c",
      capacity: { requests: { memory: "1Gi" } },
      allocationMode: "ExactCount",
      count: 1,
    },
  };
  const constraint = { distinctAttribute: "example.com/numa", requests: ["r"] };
  const claim = {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name: "one" },
    spec: { devices: { requests: [request], constraints: [constraint] } },
  };
  const made = await young.call("POST", `${path("v1")}?fieldManager=maker`, JSON.stringify(claim));
  expect(outcome(made)).toEqual([201, undefined]);
  for (const version of ["v1beta1", "v1beta2"]) {
    const { body: read } = await old.get(`${path(version)}/one`);
    const sent: Json = structuredClone(read);
    delete (version === "v1beta1" ? sent.spec.devices.requests[0] : sent.spec.devices.requests[0].exactly).capacity;
    delete sent.spec.devices.constraints[0].distinctAttribute;
    sent.metadata.labels = { through: version };
    const put = await old.put(`${path(version)}/one`, sent);
    expect(outcome(put)[0]).toBe(200);
    expect(put.body.metadata.labels).toEqual({ through: version });
    const patched = await old.mergePatch(`${path(version)}/one`, { metadata: { labels: { patched: version } } });
    expect(outcome(patched)[0]).toBe(200);
    const { spec, metadata } = (await young.get(`${path("v1")}/one`)).body;
    expect(spec).toEqual(claim.spec);
    // 1.33 keeps the managedFields entry of "maker", although it cannot decode all fields in it.
    const maker = (of: Json): Json => of.managedFields.find((entry: Json) => entry.manager === "maker");
    expect(maker(metadata)).toEqual(maker(made.body.metadata));
  }
});

test("an update by 1.31 in autoscaling/v1 or v2 keeps fields that only the autoscaling/v2 of a newer release has", async () => {
  const world = new World({ seed: 1 });
  await using young = await startServer({ world, release: "1.35" });
  await using old = await startServer({ world, release: "1.31" });
  const path = (version: string): string => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
  const behavior = { scaleDown: { tolerance: "50m", stabilizationWindowSeconds: 5 } };
  const autoscaler = {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "one" },
    spec: { maxReplicas: 3, scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" }, behavior },
  };
  expect(outcome(await young.create(path("v2"), autoscaler))).toEqual([201, undefined]);
  for (const version of ["v1", "v2"]) {
    const { body: read } = await old.get(`${path(version)}/one`);
    const put = await old.put(`${path(version)}/one`, { ...read, spec: { ...read.spec, maxReplicas: 4 } });
    expect(outcome(put)).toEqual([200, undefined]);
    expect((await young.get(`${path("v2")}/one`)).body.spec.behavior).toMatchObject(behavior);
  }
});
