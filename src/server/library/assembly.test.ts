import { describe, expect, test } from "vitest";
import { World } from "../../tools/simulator/world.ts";
import { ownResources } from "../../extensions/library/resource-table.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import {
  GADGET,
  GROUP,
  startApiServer,
  WIDGET,
  widget,
  WIDGETS,
} from "../../../test/testing/server/api-server/start-api-server.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const V1_WIDGETS = WIDGETS.replace("/v2/", "/v1/");

describe("an API server for a program's own resources", () => {
  test("creates an object in a namespace without storing namespaces itself", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    const { status, body } = await server.call("POST", WIDGETS, widget("a"));
    expect(status).toBe(201);
    expect(body.metadata.namespace).toBe("shop");
  });

  test("runs the defaults, prepare, validation and warning hooks of a resource in addition to its schema", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    const made = await server.call("POST", WIDGETS, widget("a", { size: 7 }));
    expect(made.body.spec).toEqual({ size: 3, color: "grey" });
    const wrong = await server.call("POST", WIDGETS, widget("b", { size: -1, color: "red" }));
    expect(wrong.status).toBe(422);
    expect(wrong.body.details.causes.map(({ field }: { field: string }) => field)).toEqual(["spec.color"]);
    const warned = await server.call("POST", WIDGETS, widget("c", { color: "pink" }));
    expect(warned.headers["warning"]).toEqual([expect.stringContaining("pink fades")]);
    const turned = await server.call("PATCH", `${WIDGETS}/a`, Buffer.from('{"spec":{"color":"red","size":-1}}'), {
      "content-type": "application/merge-patch+json",
    });
    expect(turned.body.message).toContain("spec.size");
    expect(turned.body.message).not.toContain("spec.color");
  });

  test("converts stored and applied objects between versions with the convert function of the resource", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    const old = await server.call("POST", V1_WIDGETS, widget("a", { hue: "blue" }, "v1"));
    expect(old.body.spec).toEqual({ hue: "blue", size: 1 });
    expect(old.headers["warning"]).toEqual([expect.stringContaining(`use ${GROUP}/v2 Widget`)]);
    expect((await server.get(`${WIDGETS}/a`)).body.spec).toEqual({ color: "blue", size: 1 });
    await server.call("POST", V1_WIDGETS, widget("b", {}, "v1"));
    expect((await server.get(`${WIDGETS}/b`)).body.spec).toEqual({ color: "grey", size: 1 });
    const applied = await server.call(
      "PATCH",
      `${WIDGETS}/a?fieldManager=tester&force=true`,
      widget("a", { color: "green" }),
      { "content-type": "application/apply-patch+yaml" },
    );
    expect(applied.status).toBe(200);
    const listed = await server.get(V1_WIDGETS);
    expect(listed.body.items[0].spec).toEqual({ hue: "green", size: 1 });
    expect(listed.body.items[0].metadata.uid).toBe(old.body.metadata.uid);
  });

  test("serves the subresources, columns and field selectors of the resource", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    await server.call("POST", WIDGETS, { ...widget("a", { color: "blue" }), status: { ready: true } });
    await server.call("POST", WIDGETS, widget("b"));
    expect((await server.get(`${WIDGETS}/a`)).body.status).toBeUndefined();
    const found = await server.get(`/apis/${GROUP}/v2/widgets?fieldSelector=spec.color%3Dblue`);
    expect(found.body.items).toHaveLength(1);
    const shown = await server.get(WIDGETS, { accept: TABLE });
    expect(shown.body.rows.map(({ cells }: { cells: unknown }) => cells)).toEqual([
      ["a", "blue"],
      ["b", "grey"],
    ]);
    const scaled = await server.get(`${WIDGETS}/a/scale`);
    expect(scaled.body.spec.replicas).toBe(3);
  });

  test("shows only its own groups in every form of discovery", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    const { body } = await server.get("/apis", { accept: AGGREGATED });
    expect(body.items).toHaveLength(1);
    expect(body.items[0].versions.map(({ version }: { version: string }) => version)).toEqual(["v2", "v1"]);
    expect((await server.get("/apis")).body.groups.map(({ name }: { name: string }) => name)).toEqual([GROUP]);
    const v1 = (await server.get(`/apis/${GROUP}/v1`)).body.resources;
    expect(v1.map(({ name }: { name: string }) => name)).toEqual(["gadgets", "widgets"]);
    expect((await server.get("/")).body.paths).toContain(`/apis/${GROUP}/v2`);
  });

  test.each(["/api", "/api/v1/pods", "/apis/apps/v1/deployments", "/apis/apps", "/evenkeel/cluster"])(
    "returns 404 for %s",
    async (path) => {
      await using server = await startApiServer(new World({ seed: 1 }));
      expect(await server.get(path)).toMatchObject({ status: 404, body: "404 page not found\n" });
    },
  );

  test("describes its resources in OpenAPI, with the metadata schemas of the main API server", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    const index = JSON.parse((await server.get("/openapi/v3")).body) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    expect(Object.keys(index.paths)).toEqual([`apis/${GROUP}/v1`, `apis/${GROUP}/v2`]);
    const { body: v3 } = await server.get(index.paths[`apis/${GROUP}/v2`]!.serverRelativeURL);
    expect(v3.components.schemas["com.example.things.v2.Widget"].properties.spec.properties.color).toBeDefined();
    expect(v3.components.schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]).toBeDefined();
    const { body: v2 } = await server.get("/openapi/v2");
    expect(Object.keys(v2.paths)).toContain(`/apis/${GROUP}/v1/gadgets/{name}`);
  });

  test("rejects requests with an invalid token, and anonymous requests except for health", async () => {
    await using server = await startApiServer(new World({ seed: 1 }));
    expect((await server.get("/apis", { authorization: "" })).status).toBe(403);
    expect((await server.get("/apis", { authorization: "Bearer guess" })).status).toBe(401);
    expect((await server.get("/readyz", { authorization: "" })).status).toBe(200);
    expect((await server.get("/metrics")).body).toContain("apiserver_request_total");
  });

  test("fails /readyz and rejects new requests when it shuts down", async () => {
    const world = new World({ seed: 1 });
    await using server = await startApiServer(world);
    await world.run(server.server.beginShutdown());
    expect((await server.get("/readyz")).status).toBe(500);
    expect((await server.get(WIDGETS)).status).toBe(503);
    await world.run(server.server.drain(1_000));
  });
});

describe("ownResources throws an error of one sentence for a list", () => {
  test.each([
    ["without a resource", [], "an API server needs at least one resource"],
    ["with the same resource twice", [GADGET, GADGET], `the resource gadgets.${GROUP} is given twice`],
    [
      "with a schema that is not structural",
      [{ ...GADGET, versions: [{ name: "v1", schema: {} }] }],
      `the resource gadgets.${GROUP} cannot be served: spec.validation.openAPIV3Schema.type: Required value`,
    ],
    [
      "with a storage version that does not exist",
      [{ ...WIDGET, storageVersion: "v9" }],
      `the resource widgets.${GROUP} cannot be served: `,
    ],
  ])("%s", (_, resources, message) => {
    expect(() => ownResources(resources, gatesOf("1.36"))).toThrow(message);
  });
});
