/** Tests of strategic merge patches through a server that does not define all fields of the stored object. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { header, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const TARGET = `${DEPLOYMENTS}/web`;

let young: TestServer;
let old: TestServer;

beforeEach(async () => {
  const world = new World({ seed: 1 });
  young = await startServer({ world, release: "1.33" });
  old = await startServer({ world, release: "1.31" });
  await young.create(DEPLOYMENTS, novelWorkload());
});

afterEach(async () => {
  await old[Symbol.asyncDispose]();
  await young[Symbol.asyncDispose]();
});

/** 1.31 supports neither `resources` of a pod nor `lifecycle.stopSignal`. */
function novelWorkload(): Json {
  const labels = { app: "web" };
  const main = { name: "main", image: "main", lifecycle: { stopSignal: "SIGUSR1" } };
  const spec = { os: { name: "linux" }, resources: { limits: { cpu: "1" } }, containers: [main] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function patch(spec: Json, validation = "Strict"): Promise<ApiTestResponse> {
  return old.call(
    "PATCH",
    `${TARGET}?fieldValidation=${validation}`,
    JSON.stringify({ spec: { template: { spec } } }),
    { headers: { "content-type": "application/strategic-merge-patch+json" } },
  );
}

async function stored(): Promise<Json> {
  return (await young.get(TARGET)).body.spec.template.spec;
}

describe("a strategic merge patch through an older server", () => {
  test("keeps unknown fields that the patch does not contain, in maps and in list items", async () => {
    const response = await patch({
      hostname: "h",
      containers: [
        { name: "main", image: "other" },
        { name: "b", image: "b" },
      ],
    });
    expect([response.status, header(response, "warning")]).toEqual([200, undefined]);
    const { resources, containers } = await stored();
    expect(resources).toEqual({ limits: { cpu: "1" } });
    expect(containers[0]).toMatchObject({ image: "other", lifecycle: { stopSignal: "SIGUSR1" } });
  });

  test("removes unknown fields that the patch sets to null, in maps and in list items", async () => {
    const response = await patch({ resources: null, containers: [{ name: "main", lifecycle: { stopSignal: null } }] });
    expect(response.status).toBe(200);
    const { resources, containers } = await stored();
    expect([resources, containers[0].lifecycle.stopSignal]).toEqual([undefined, undefined]);
  });

  test("that sets a field that the server does not define is rejected with Strict and causes a warning with Warn", async () => {
    const containers = [{ name: "main", lifecycle: { stopSignal: "SIGTERM" } }];
    expect((await patch({ containers })).body.message).toContain(
      'unknown field "spec.template.spec.containers[0].lifecycle.stopSignal"',
    );
    const warned = await patch({ containers }, "Warn");
    expect(header(warned, "warning")).toContain("spec.template.spec.containers[0].lifecycle.stopSignal");
  });
});
