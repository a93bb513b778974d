import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, startServer, type ApiTestResponse, type TestServer } from "./start.ts";

function post(api: TestServer, yaml: string | Buffer, target = CONFIG_MAPS): Promise<ApiTestResponse> {
  return api.call("POST", target, yaml, { headers: { "content-type": "application/yaml" } });
}

const UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): ";

describe("YAML bodies", () => {
  test("create, update and delete objects", async () => {
    await using api = await startServer();
    const headers = { headers: { "content-type": "application/yaml" } };
    expect(
      (await post(api, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |\n    one\n    two\n"))
        .body.data,
    ).toEqual({ text: "one\ntwo\n" });
    expect(
      (await api.call("PUT", `${CONFIG_MAPS}/a`, "metadata: {name: a}\ndata: {b: '2'}\n", headers)).body.data,
    ).toEqual({ b: "2" });
    expect((await api.call("DELETE", `${CONFIG_MAPS}/a`, "preconditions: {uid: other}\n", headers)).status).toBe(409);
    expect((await api.call("DELETE", `${CONFIG_MAPS}/a`, "propagationPolicy: Background\n", headers)).status).toBe(200);
  });

  test.each([
    ["a byte order mark", "\ufeffmetadata: {name: a}\n"],
    ["Windows line endings", "metadata:\r\n  name: a\r\n"],
    ["an anchor and a merge", "x: &x {name: a}\nmetadata:\n  <<: *x\n"],
    ["JSON", '{"metadata":{"name":"a"}}'],
    ["a second document, which is not read", "metadata: {name: a}\n---\nmetadata: {name: b}\n"],
  ])("may contain %s", async (_what, yaml) => {
    await using api = await startServer();
    const response = await post(api, yaml);
    expect(response.status).toBe(201);
    expect(response.body.metadata.name).toBe("a");
  });

  test.each([
    [
      "a name that is a boolean",
      "metadata: {name: y}\n",
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string',
    ],
    [
      "a value that is a number",
      "data: {a: 010}\n",
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    ["an unclosed list", "a: [", `${UNRECOGNIZED}yaml: line 1: did not find expected node content (613a205b)`],
    [
      "a tab",
      "a:\n\tb: 1\n",
      `${UNRECOGNIZED}yaml: line 2: found character that cannot start any token (613a0a09623a20310a)`,
    ],
    ["infinity", "a: .inf\n", `${UNRECOGNIZED}json: unsupported value: +Inf (613a202e696e660a)`],
  ])("with %s are rejected with the message of kube-apiserver", async (_what, yaml, message) => {
    await using api = await startServer();
    const response = await post(api, yaml);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(message);
  });

  test.each(["", "# nothing\n", "null\n", "---\n"])(
    "without content (%j) are treated as objects without a name",
    async (yaml) => {
      await using api = await startServer();
      const response = await post(api, yaml);
      expect(response.status).toBe(422);
      expect(response.body.message).toContain("name or generateName is required");
    },
  );

  test("and JSON bodies that are null are treated as objects without a name", async () => {
    await using api = await startServer();
    expect(
      (await api.call("POST", CONFIG_MAPS, "null", { headers: { "content-type": "application/json" } })).status,
    ).toBe(422);
  });

  test("that are malformed are rejected, and the server keeps serving requests", async () => {
    await using api = await startServer();
    expect((await post(api, Buffer.from([0xff, 0xfe, 0x00, 0x61]))).status).toBe(400);
    expect((await post(api, "a: &a [*a]\n")).body.message).toContain("anchor 'a' value contains itself");
    expect((await post(api, `[${"1,".repeat(600_000)}]`)).status).toBe(400);
    expect((await api.get("/livez")).status).toBe(200);
  });

  test("that contain the key __proto__ affect only the object", async () => {
    await using api = await startServer();
    const response = await post(api, "metadata: {name: a}\n__proto__: {polluted: 1}\ndata: {__proto__: x}\n");
    expect(response.text).toContain('"data":{"__proto__":"x"}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("that repeat a YAML response of the server are accepted unchanged", async () => {
    await using api = await startServer();
    const data = {
      yes: "no",
      "010": "0x1F",
      date: "2001-12-14",
      null: "~",
      quote: "'\"",
      lines: " a\n\n b \n",
      colon: "a: b #c",
      exp: "1e1_0",
    };
    await api.create(CONFIG_MAPS, configMap("a", { data }));
    const yaml = (await api.get(`${CONFIG_MAPS}/a`, { accept: "application/yaml" })).text;
    const before = (await api.get(`${CONFIG_MAPS}/a`)).body;
    const response = await api.call("PUT", `${CONFIG_MAPS}/a?fieldValidation=Strict`, yaml, {
      headers: { "content-type": "application/yaml" },
    });
    expect(response.body).toEqual(before);
  });
});
