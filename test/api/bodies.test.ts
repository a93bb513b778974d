import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, header, startServer, type ApiTestResponse, type TestServer } from "./start.ts";

function post(
  api: TestServer,
  text: string,
  contentType = "application/json",
  target = CONFIG_MAPS,
): Promise<ApiTestResponse> {
  return api.call("POST", target, text, { headers: { "content-type": contentType } });
}

const UNRECOGNIZED =
  "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";

describe("request bodies:", () => {
  test.each([
    ["{", "unexpected end of JSON input ({)"],
    ["", "unexpected end of JSON input (<empty>)"],
    [
      "[]",
      String.raw`json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)`,
    ],
  ])("the body %j returns 400 with the decoding error", async (text, why) => {
    await using api = await startServer();
    const response = await post(api, text);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ reason: "BadRequest", message: UNRECOGNIZED + why });
  });

  test("an object of another kind is rejected", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } });
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion',
    );
  });

  test("an object of another version is rejected", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap("a", { apiVersion: "v2" }));
    expect(response.status).toBe(400);
    expect(response.body.message).toContain('no kind "ConfigMap" is registered for version "v2"');
  });

  test("a value of the wrong type is rejected, and the message names its field", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, configMap("a", { data: { k: 1 } }));
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    );
  });

  test("an unknown media type returns 415", async () => {
    await using api = await startServer();
    const response = await post(api, "hello", "text/plain");
    expect(response.status).toBe(415);
    expect(response.body.reason).toBe("UnsupportedMediaType");
  });

  test("a charset parameter of the media type is ignored", async () => {
    await using api = await startServer();
    expect((await post(api, JSON.stringify(configMap("a")), "application/json; charset=utf-8")).status).toBe(201);
  });

  test("a body of more than 3 MiB returns 413", async () => {
    await using api = await startServer();
    const response = await post(api, " ".repeat(3 * 1024 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(response.body).toMatchObject({
      reason: "RequestEntityTooLarge",
      message: "Request entity too large: limit is 3145728",
    });
  });

  test("a body that is nested too deeply is rejected, and the server keeps serving requests", async () => {
    await using api = await startServer();
    const depth = 1_000_000;
    const response = await post(api, `{"data":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toContain("exceeded max depth");
    expect((await api.get("/livez")).status).toBe(200);
  });

  test("a field named __proto__ does not pollute prototypes and is kept in a map", async () => {
    await using api = await startServer();
    const response = await post(
      api,
      '{"metadata":{"name":"a"},"__proto__":{"polluted":"yes"},"data":{"__proto__":"x"}}',
    );
    expect(response.status).toBe(201);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(response.text).toContain('"data":{"__proto__":"x"}');
  });
});

describe("field validation", () => {
  const unknown = configMap("v", { bogus: 1, metadata: { wrong: 2 } });
  const twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"v"},"data":{"a":"1","a":"2"}}';

  test("by default drops unknown fields and all but the last of duplicate fields, with a warning for each", async () => {
    await using api = await startServer();
    const response = await api.create(CONFIG_MAPS, unknown);
    expect(response.status).toBe(201);
    expect(response.headers["warning"]).toEqual([
      String.raw`299 - "unknown field \"metadata.wrong\""`,
      String.raw`299 - "unknown field \"bogus\""`,
    ]);
    expect(response.body).not.toHaveProperty("bogus");
    const duplicate = await post(api, twice.replace('"v"', '"w"'));
    expect(duplicate.headers["warning"]).toEqual([String.raw`299 - "duplicate field \"data.a\""`]);
    expect(duplicate.body.data).toEqual({ a: "2" });
  });

  test("with Warn sends a warning for each unknown field", async () => {
    await using api = await startServer();
    const response = await api.create(`${CONFIG_MAPS}?fieldValidation=Warn`, unknown);
    expect(response.status).toBe(201);
    expect(response.headers["warning"]).toHaveLength(2);
  });

  test("with Ignore accepts unknown fields without a warning", async () => {
    await using api = await startServer();
    const response = await api.create(`${CONFIG_MAPS}?fieldValidation=Ignore`, unknown);
    expect(response.status).toBe(201);
    expect(header(response, "warning")).toBeUndefined();
  });

  test("with Strict rejects unknown and duplicate fields and stores nothing", async () => {
    await using api = await startServer();
    const response = await api.create(`${CONFIG_MAPS}?fieldValidation=Strict`, unknown);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.wrong", unknown field "bogus"',
    );
    expect(
      (await post(api, twice, "application/json", `${CONFIG_MAPS}?fieldValidation=Strict`)).body.message,
    ).toContain('strict decoding error: duplicate field "data.a"');
    expect((await api.get(`${CONFIG_MAPS}/v`)).status).toBe(404);
  });

  test("with Strict also applies to updates", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("v"));
    expect((await api.put(`${CONFIG_MAPS}/v?fieldValidation=Strict`, unknown)).status).toBe(400);
  });

  test('with Strict returns 422 for a patch and names the field "patch"', async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("v"));
    const response = await api.mergePatch(`${CONFIG_MAPS}/v?fieldValidation=Strict`, { bogus: 1 });
    expect(response.status).toBe(422);
    expect(response.body.details.causes[0]).toMatchObject({ field: "patch", reason: "FieldValueInvalid" });
  });

  test("rejects any value other than Warn, Ignore and Strict", async () => {
    await using api = await startServer();
    const response = await api.create(`${CONFIG_MAPS}?fieldValidation=Bogus`, configMap("v"));
    expect(response.status).toBe(422);
    expect(response.body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Bogus": supported values: "", "Ignore", "Strict", "Warn"',
    );
  });

  test("sends warnings of a bounded total size, however many fields are unknown", async () => {
    await using api = await startServer();
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`unknown-${index}`, 1]));
    const response = await api.create(CONFIG_MAPS, configMap("v", many));
    expect(response.status).toBe(201);
    expect((response.headers["warning"] as string[]).join("").length).toBeLessThanOrEqual(4096);
  });

  test("accepts a fieldManager of at most 128 bytes, all of whose characters must be printable", async () => {
    await using api = await startServer();
    expect((await api.create(`${CONFIG_MAPS}?fieldManager=${"m".repeat(128)}`, configMap("a"))).status).toBe(201);
    expect((await api.create(`${CONFIG_MAPS}?fieldManager=${"m".repeat(129)}`, configMap("b"))).status).toBe(422);
    expect((await api.create(`${CONFIG_MAPS}?fieldManager=a%07b`, configMap("c"))).status).toBe(422);
  });
});
