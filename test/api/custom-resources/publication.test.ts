/** Tests of the OpenAPI schemas of custom resources, which the server publishes as long as it serves the resources. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { header, startServer, type Json, type TestServer } from "../start.ts";
import { ANYTHING, define, definition, redefine, schemaOf, version } from "./define.ts";

let api: TestServer;

beforeEach(async () => {
  api = await startServer();
});

afterEach(() => api[Symbol.asyncDispose]());

const SPEC = { size: { type: "integer", description: "how large" }, color: { type: "string", enum: ["red", "blue"] } };

async function published(): Promise<Json> {
  return (await api.get("/openapi/v2")).body.definitions;
}

function names(definitions: Json): string[] {
  return Object.keys(definitions).filter((name) => name.startsWith("com.example.") && !name.endsWith("List"));
}

describe("OpenAPI v2", () => {
  test("contains the schema of the CRD, the fields that every object has, and the group, version and kind", async () => {
    await define(api, definition([version("v1", schemaOf(SPEC))]));
    const widget = (await published())["com.example.test.v1.Widget"];
    expect(Object.keys(widget.properties).toSorted()).toEqual(["apiVersion", "kind", "metadata", "spec"]);
    expect(widget.properties.spec).toEqual({ type: "object", properties: SPEC });
    expect(widget["x-kubernetes-group-version-kind"]).toEqual([
      { group: "test.example.com", version: "v1", kind: "Widget" },
    ]);
  });

  test("describes a kind whose schema declares no fields as an object only", async () => {
    await define(api, definition([version("v1", ANYTHING)]));
    const { properties, type } = (await published())["com.example.test.v1.Widget"];
    expect([properties, type]).toEqual([undefined, "object"]);
  });

  test("contains every kind of every group and version", async () => {
    await define(api, definition([version("v1"), version("v2")]));
    await define(api, definition([version("v1")], { names: { plural: "gadgets", kind: "Gadget" } }));
    await define(api, definition([version("v1")], { group: "other.example.com" }));
    expect(names(await published()).toSorted()).toEqual([
      "com.example.other.v1.Widget",
      "com.example.test.v1.Gadget",
      "com.example.test.v1.Widget",
      "com.example.test.v2.Widget",
    ]);
  });

  test("follows changes of the served versions", async () => {
    await define(api, definition([version("v1"), version("v2")]));
    await redefine(api, "widgets.test.example.com", (spec) => ({ ...spec, versions: [version("v1"), version("v3")] }));
    expect(names(await published())).toEqual(["com.example.test.v1.Widget", "com.example.test.v3.Widget"]);
    const unserved = { ...version("v3"), served: false };
    await redefine(api, "widgets.test.example.com", (spec) => ({ ...spec, versions: [version("v1"), unserved] }));
    expect(names(await published())).toEqual(["com.example.test.v1.Widget"]);
  });

  test("changes its ETag when the served resources change, and only then", async () => {
    const before = header(await api.get("/openapi/v2"), "etag")!;
    await define(api);
    const after = await api.get("/openapi/v2", { "if-none-match": before });
    expect(after.status).toBe(200);
    const same = await api.get("/openapi/v2", { "if-none-match": header(after, "etag")! });
    expect(same.status).toBe(304);
  });
});

test("OpenAPI v3 has a document for the group version of a CRD, and the document is removed with the CRD", async () => {
  const path = "apis/test.example.com/v1";
  await define(api, definition([version("v1", schemaOf(SPEC))]));
  const { paths } = (await api.get("/openapi/v3")).body;
  const { body } = await api.get(paths[path].serverRelativeURL);
  expect(body.components.schemas["com.example.test.v1.Widget"].properties.spec.properties).toEqual(SPEC);
  await api.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.test.example.com");
  await api.world.advance(5_000);
  expect((await api.get("/openapi/v3")).body.paths[path]).toBeUndefined();
});
