import { describe, expect, test } from "vitest";
import {
  CONFIG_MAPS,
  configMap,
  header,
  startServer,
  type ApiTestResponse,
  type Json,
  type TestServer,
} from "./start.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const TARGET = `${DEPLOYMENTS}/web`;

const WEB = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { app: "web" } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "example.com/c:1", env: [{ name: "A", value: "1" }] }] },
    },
  },
};

function strategic(api: TestServer, target: string, patch: Json): Promise<ApiTestResponse> {
  return api.call("PATCH", target, typeof patch === "string" ? patch : JSON.stringify(patch), {
    headers: { "content-type": "application/strategic-merge-patch+json" },
  });
}

function containersPatch(...containers: Json[]): Json {
  return { spec: { template: { spec: { containers } } } };
}

describe("a strategic merge patch", () => {
  test("merges lists by their keys and supports directives", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, WEB);
    const added = await strategic(
      api,
      TARGET,
      containersPatch({ name: "c", env: [{ name: "B", value: "2" }] }, { name: "side", image: "example.com/s:1" }),
    );
    expect(added.status).toBe(200);
    const containers = (response: ApiTestResponse): Json[] => response.body.spec.template.spec.containers;
    expect(containers(added).map(({ name }) => name)).toEqual(["c", "side"]);
    expect(containers(added)[0].env).toEqual([
      { name: "B", value: "2" },
      { name: "A", value: "1" },
    ]);
    const removed = await strategic(api, TARGET, containersPatch({ name: "c", $patch: "delete" }));
    expect(containers(removed).map(({ name }) => name)).toEqual(["side"]);
    const recreated = await strategic(api, TARGET, {
      spec: { strategy: { $retainKeys: ["type"], type: "Recreate" }, replicas: null },
    });
    expect(header(recreated, "warning")).toBeUndefined();
    expect(recreated.body.spec.strategy).toEqual({ type: "Recreate" });
  });

  test("treats finalizers as a set and merges owner references by uid", async () => {
    await using api = await startServer();
    const owner = (uid: string): Json => ({ apiVersion: "v1", kind: "ConfigMap", name: "o", uid });
    await api.create(CONFIG_MAPS, { ...configMap("p"), metadata: { name: "p", ownerReferences: [owner("1")] } });
    const target = `${CONFIG_MAPS}/p`;
    await strategic(api, target, { metadata: { finalizers: ["example.com/a"] } });
    const both = await strategic(api, target, { metadata: { finalizers: ["example.com/b"] } });
    expect(both.body.metadata.finalizers).toEqual(["example.com/b", "example.com/a"]);
    const none = await strategic(api, target, {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": ["example.com/a", "example.com/b"],
        ownerReferences: [{ $patch: "delete", uid: "1" }],
      },
    });
    expect(none.body.metadata).not.toHaveProperty("finalizers");
    expect(none.body.metadata).not.toHaveProperty("ownerReferences");
  });

  test("of scale and status merges lists according to the schema of the subresource's kind", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, WEB);
    const scaled = await strategic(api, `${TARGET}/scale`, { spec: { replicas: 3 } });
    expect(scaled.body).toMatchObject({ kind: "Scale", spec: { replicas: 3 } });
    const condition = (type: string, status: string): Json => ({ type, status });
    const conditions = (...list: Json[]): Promise<ApiTestResponse> =>
      strategic(api, `${TARGET}/status`, { status: { conditions: list } });
    await conditions(condition("A", "True"), condition("B", "True"));
    const { body } = await conditions(condition("B", "False"));
    expect(body.status.conditions.map(({ type, status }: Json) => [type, status])).toEqual([
      ["A", "True"],
      ["B", "False"],
    ]);
  });

  test("does not change the kind", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("p"));
    const response = await strategic(api, `${CONFIG_MAPS}/p`, { kind: "Secret", apiVersion: "v9" });
    expect(response.status).toBe(200);
    expect(response.body).toEqual(body);
    expect((await strategic(api, `${CONFIG_MAPS}/p`, "null")).body).toEqual(body);
  });

  test.each<[what: string, patch: Json, code: number, message: string]>([
    [
      "an item without its key",
      containersPatch({ image: "noname" }),
      500,
      "map: map[image:noname] does not contain declared merge key: name",
    ],
    ["a bad directive", { spec: { strategy: { $retainKeys: 1 } } }, 400, "invalid patch format of retainKeys"],
    [
      "lists of lists",
      { metadata: { finalizers: [["a"]], "$setElementOrder/finalizers": [] } },
      422,
      "the server rejected our request due to an error in our request",
    ],
    ["malformed JSON", "{", 400, "unexpected end of JSON input"],
    [
      "a list instead of a map",
      "[]",
      400,
      "json: cannot unmarshal array into Go value of type map[string]interface {}",
    ],
    [
      "a value of the wrong type",
      { spec: { replicas: "1" } },
      422,
      ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:1]]": unrecognized type: int32',
    ],
    [
      "another name",
      { metadata: { name: "other" } },
      400,
      "the name of the object (other) does not match the name on the URL (web)",
    ],
  ])("with %s is rejected and changes nothing", async (_what, patch, code, message) => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, WEB);
    const { text } = await api.get(TARGET);
    const response = await strategic(api, TARGET, patch);
    expect(response.body).toMatchObject({ kind: "Status", code, message });
    expect((await api.get(TARGET)).text).toBe(text);
  });

  test("that cannot be merged returns an error without a reason and details", async () => {
    await using api = await startServer();
    await api.create(DEPLOYMENTS, WEB);
    const { body } = await strategic(api, TARGET, containersPatch({ image: "noname" }));
    expect(Object.keys(body).toSorted()).toEqual(["apiVersion", "code", "kind", "message", "metadata", "status"]);
  });

  test("reports duplicate fields first, then unknown fields in the order of their names", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("p", { data: { a: "1" } }));
    const patch = '{"zzz":1,"metadata":{"wrong":1},"data":{"a":"1","a":"2"},"bogus":{"b":1}}';
    const warned = await strategic(api, `${CONFIG_MAPS}/p?fieldValidation=Warn`, patch);
    expect(warned.status).toBe(200);
    expect(warned.headers["warning"]).toEqual([
      String.raw`299 - "duplicate field \"data.a\""`,
      String.raw`299 - "unknown field \"bogus\""`,
      String.raw`299 - "unknown field \"metadata.wrong\""`,
      String.raw`299 - "unknown field \"zzz\""`,
    ]);
    const rejected = await strategic(api, `${CONFIG_MAPS}/p?fieldValidation=Strict`, { bogus: 1 });
    expect(rejected.body).toMatchObject({
      code: 422,
      message: ' "" is invalid: patch: Invalid value: "map[bogus:1]": strict decoding error: unknown field "bogus"',
      details: {
        causes: [
          {
            reason: "FieldValueInvalid",
            message: 'Invalid value: "map[bogus:1]": strict decoding error: unknown field "bogus"',
            field: "patch",
          },
        ],
      },
    });
    const ignored = await strategic(api, `${CONFIG_MAPS}/p?fieldValidation=Ignore`, patch);
    expect([ignored.status, ignored.headers["warning"]]).toEqual([200, undefined]);
  });

  test("of a missing object returns 404, even if the patch is malformed", async () => {
    await using api = await startServer();
    expect((await strategic(api, `${CONFIG_MAPS}/nosuch`, "{")).status).toBe(404);
  });
});
