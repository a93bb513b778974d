import { describe, expect, test } from "vitest";
import { warningHeaders } from "../../src/serving/endpoints/decode-body.ts";
import { CONFIG_MAPS, configMap, header, PODS, startServer, type ApiTestResponse, type TestServer } from "./start.ts";

function post(
  api: TestServer,
  body: string,
  options: { type?: string; target?: string; validation?: string } = {},
): Promise<ApiTestResponse> {
  const { type = "application/json", target = CONFIG_MAPS, validation = "Strict" } = options;
  return api.call("POST", `${target}?fieldValidation=${validation}`, body, { headers: { "content-type": type } });
}

function strictProblems(response: ApiTestResponse): string {
  return response.body.message.split("strict decoding error: ")[1];
}

describe("strict decoding", () => {
  test.each<[what: string, target: string, body: string, problems: string]>([
    [
      "every problem in reading order, each once",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","zzz":1,"data":{"a":"1","a":"2"},"bogus":1,"bogus":2,"metadata":{"name":"a","wrong":1,"name":"b","labels":{"x":"1","x":"2","x":"3"}},"unk":{"k":1,"k":2},"data":{"b":"1"}}',
      'unknown field "zzz", duplicate field "data.a", unknown field "bogus", unknown field "metadata.wrong", duplicate field "metadata.name", duplicate field "metadata.labels.x", unknown field "unk", duplicate field "data"',
    ],
    [
      "list items by index, and nothing inside raw JSON",
      PODS,
      '{"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{"fieldsV1":{"a":1,"a":2}}]},"spec":{"containers":[{"name":"x","nme":"y","name":"z"},{"nme":1,"image":"a","image":"b"}],"containers":[{"name":"q","nme":2}]}}',
      'unknown field "spec.containers[0].nme", duplicate field "spec.containers[0].name", unknown field "spec.containers[1].nme", duplicate field "spec.containers[1].image", duplicate field "spec.containers"',
    ],
    [
      "capitals",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","Data":{"a":"1"},"metadata":{"NAME":"x"}}',
      'unknown field "Data", unknown field "metadata.NAME"',
    ],
    [
      "a duplicate kind",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","kind":"ConfigMap"}',
      'duplicate field "kind"',
    ],
    [
      "names with quotes and dots",
      CONFIG_MAPS,
      String.raw`{"apiVersion":"v1","kind":"ConfigMap","a\"b":1,"a.b":{},"metadata":{"annotations":{"a.b/c":"1","a.b/c":"1"}}}`,
      String.raw`unknown field "a\"b", unknown field "a.b", duplicate field "metadata.annotations.a.b/c"`,
    ],
    [
      "nulls",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","bogus":1,"data":{"a":null,"a":null},"binaryData":null,"binaryData":{}}',
      'unknown field "bogus", duplicate field "data.a", duplicate field "binaryData"',
    ],
  ])("reports %s, as kube-apiserver does", async (_what, target, body, problems) => {
    await using api = await startServer();
    const response = await post(api, body, { target });
    expect(response.status).toBe(400);
    expect(strictProblems(response)).toBe(problems);
  });

  test("reports a value of the wrong type even if the body also has an unknown field", async () => {
    await using api = await startServer();
    expect((await post(api, '{"bogus":1,"data":{"a":1}}')).body.message).toContain(
      "cannot unmarshal number into Go struct field ConfigMap.data of type string",
    );
  });

  test("of YAML reports duplicate keys first, then unknown fields in the order of their names", async () => {
    await using api = await startServer();
    const yaml =
      "kind: ConfigMap\napiVersion: v1\nzzz: 1\nmetadata:\n  name: a\n  name: b\n  wrong: 1\ndata:\n  k: v\n  k: w\nbogus: 1\n";
    const response = await post(api, yaml, { type: "application/yaml" });
    expect(response.status).toBe(400);
    expect(strictProblems(response)).toBe(
      'yaml: unmarshal errors:\n  line 6: key "name" already set in map\n  line 10: key "k" already set in map, unknown field "bogus", unknown field "metadata.wrong", unknown field "zzz"',
    );
  });
});

describe("warnings", () => {
  const yaml = "metadata: {name: a}\ndata:\n  k: v\n  k: w\nbogus: 1\n";

  test("report duplicate keys in YAML, of which the last value is stored", async () => {
    await using api = await startServer();
    const response = await post(api, yaml, { type: "application/yaml", validation: "Warn" });
    expect(response.status).toBe(201);
    expect(response.body.data).toEqual({ k: "w" });
    expect(response.headers["warning"]).toEqual([
      String.raw`299 - "yaml: unmarshal errors: line 4: key \"k\" already set in map"`,
      String.raw`299 - "unknown field \"bogus\""`,
    ]);
  });

  test("are not sent with fieldValidation=Ignore", async () => {
    await using api = await startServer();
    const response = await post(api, yaml, { type: "application/yaml", validation: "Ignore" });
    expect(response.status).toBe(201);
    expect(header(response, "warning")).toBeUndefined();
  });

  test("are also sent for patches", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    expect((await api.mergePatch(`${CONFIG_MAPS}/a`, { bogus: 1 })).headers["warning"]).toEqual([
      String.raw`299 - "unknown field \"bogus\""`,
    ]);
    expect(
      (await api.jsonPatch(`${CONFIG_MAPS}/a`, [{ op: "add", path: "/bogus", value: 1 }])).headers["warning"],
    ).toEqual([String.raw`299 - "unknown field \"bogus\""`]);
    expect(
      (await api.mergePatch(`${CONFIG_MAPS}/a?fieldValidation=Ignore`, { bogus: 1 })).headers["warning"],
    ).toBeUndefined();
  });

  test.each([
    ["application/merge-patch+json", '{"data":{"b":"1","b":"2"}}', 'duplicate field "data.b"'],
    [
      "application/json-patch+json",
      '[{"op":"add","path":"/data/b","value":"1","value":"2"}]',
      'json patch duplicate field "[0].value"',
    ],
  ])("report duplicate fields in a patch of type %s", async (type, body, sentence) => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const patch = (query: string): ReturnType<typeof api.call> =>
      api.call("PATCH", `${CONFIG_MAPS}/a${query}`, body, { headers: { "content-type": type } });
    const strict = await patch("?fieldValidation=Strict");
    expect(strict.status).toBe(422);
    expect(strict.body.message).toContain(sentence);
    const warned = await patch("");
    expect(warned.status).toBe(200);
    expect(warned.headers["warning"]).toEqual([`299 - "${sentence.replaceAll('"', String.raw`\"`)}"`]);
  });
});

describe("the Warning header", () => {
  test.each([
    ['a "quoted" word', String.raw`299 - "a \"quoted\" word"`],
    [String.raw`a back\slash`, String.raw`299 - "a back\\slash"`],
    ["two\n  lines", '299 - "two lines"'],
    ["a\r\nSet-Cookie: x", '299 - "a Set-Cookie: x"'],
    ["é and 😀", '299 - "? and ?"'],
    ["\u0000\u007f", '299 - "??"'],
  ])("encodes %j as %s", (text, line) => {
    expect(warningHeaders([text])).toEqual({ warning: [line] });
  });

  test("does not repeat equal warnings", () => {
    expect(warningHeaders(["a", "b", "a"])["warning"]).toHaveLength(2);
  });

  test("contains truncated warnings if their total size exceeds the limit", () => {
    expect(warningHeaders(["x".repeat(10_000)])["warning"]).toEqual([`299 - "${"x".repeat(256)}"`]);
    const many = warningHeaders(Array.from({ length: 100 }, (_, index) => `${index} ${"x".repeat(1000)}`))["warning"]!;
    expect(many.join("").length).toBeLessThanOrEqual(4096);
    expect(many.length).toBeGreaterThan(10);
  });
});
