import { describe, expect, test } from "vitest";
import { bytesBody, type ApiResponse } from "../message.ts";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { indentJson, pretty } from "./pretty.ts";

const ONE_LINE = '{"kind":"Status","details":{},"n":9007199254740993}\n';
const LINES = '{\n  "kind": "Status",\n  "details": {},\n  "n": 9007199254740993\n}';

async function answered(
  url: string,
  agent: string,
  { contentType = "application/json", accept = "" }: { readonly contentType?: string; readonly accept?: string } = {},
): Promise<string> {
  const response: ApiResponse = {
    status: 200,
    headers: { "content-type": contentType },
    body: bytesBody(Buffer.from(ONE_LINE.slice(0, 9)), Buffer.from(ONE_LINE.slice(9))),
  };
  const { body } = await pretty()(() => Promise.resolve(response))(
    infoRequest({ url, headers: { "user-agent": agent, accept } }),
  );
  return body.kind === "bytes" ? Buffer.concat(body.chunks).toString() : body.kind;
}

describe("the pretty filter", () => {
  test.each([
    ["/api/v1/pods", "curl/8.5.0"],
    ["/api/v1/pods", "Wget/1.21"],
    ["/api/v1/pods", "Mozilla/5.0 (X11)"],
    ["/api/v1/pods?pretty=true", "kubectl/v1.36"],
    ["/api/v1/pods?limit=1&pretty=1", ""],
    ["/api/v1/pods?pretty=", "curl/8.5.0"],
  ])("indents %s for the user agent %j", async (url, agent) => {
    expect(await answered(url, agent)).toBe(LINES);
  });

  test.each([
    ["/api/v1/pods", "kubectl/v1.36"],
    ["/api/v1/pods?pretty=false", "curl/8.5.0"],
    ["/api/v1/pods?pretty=yes", "curl/8.5.0"],
    ["/openapi/v2?pretty=true", "curl/8.5.0"],
    ["/.well-known/openid-configuration", "curl/8.5.0"],
  ])("does not indent %s for the user agent %j", async (url, agent) => {
    expect(await answered(url, agent)).toBe(ONE_LINE);
  });

  test("does not indent a body that is not JSON", async () => {
    expect(await answered("/version", "curl/8.5.0", { contentType: "application/yaml" })).toBe(ONE_LINE);
  });

  test("indents for the parameter pretty=1 of the Accept header, whatever the query says", async () => {
    const accept = "application/json;pretty=1";
    expect(await answered("/api/v1/pods?pretty=false", "kubectl/v1.36", { accept })).toBe(LINES);
  });
});

describe("indentJson", () => {
  test.each<unknown>([
    {},
    [],
    null,
    'a "quoted" \\ {text}, [or]: so\n',
    [1, -2.5e3, true, false, null],
    { a: { b: [{}, [], { c: [[1], [2, [3]]] }], "é ∑": "∆" }, d: "" },
  ])("indents %j as JSON.stringify does, whatever white space the text has", (value) => {
    const wanted = JSON.stringify(value, null, 2);
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, "\t"), wanted]) {
      const latin1 = Buffer.from(text).toString("latin1");
      expect(Buffer.from(indentJson(latin1, 1_000)!, "latin1").toString()).toBe(wanted);
    }
  });

  test("returns undefined if the result would exceed the limit", () => {
    expect(indentJson(`${"[".repeat(10_000)}${"]".repeat(10_000)}`, 1_000_000)).toBeUndefined();
  });

  test.each(['{"a', "[1,", '"\\', "}", "]]", "{]"])("terminates for %j, which is not JSON", (text) => {
    expect(typeof indentJson(text, 1_000)).toBe("string");
  });
});
