import { describe, expect, test } from "vitest";
import { parseBoolean } from "../../meta/boolean.ts";
import { Query } from "./query.ts";
import { parseRequestInfo, type RequestInfo } from "./request-info.ts";

function infoOf(line: string): RequestInfo | undefined {
  const [method = "", url = ""] = line.split(" ");
  const [path = "", query = ""] = url.split("?");
  return parseRequestInfo(method, path, new Query(query));
}

const EMPTY = {
  isResourceRequest: true,
  apiPrefix: "api",
  group: "",
  version: "v1",
  namespace: "",
  subresource: "",
  name: "",
  rest: [],
};

describe("parseRequestInfo", () => {
  const resources: readonly (readonly [line: string, info: Partial<RequestInfo>])[] = [
    ["GET /api/v1/pods", { verb: "list", resource: "pods" }],
    ["GET /api/v1/pods/", { verb: "list", resource: "pods" }],
    ["GET //api/v1/pods//", { verb: "list", resource: "pods" }],
    ["HEAD /api/v1/pods", { verb: "list", resource: "pods" }],
    ["GET /api/v1/pods?watch", { verb: "watch", resource: "pods" }],
    ["GET /api/v1/pods?watch=1", { verb: "watch", resource: "pods" }],
    ["GET /api/v1/pods?watch=f", { verb: "watch", resource: "pods" }],
    ["GET /api/v1/pods?watch=0", { verb: "list", resource: "pods" }],
    ["GET /api/v1/pods?watch=FALSE", { verb: "list", resource: "pods" }],
    ["GET /api/v1/namespaces/a/pods", { verb: "list", resource: "pods", namespace: "a" }],
    ["GET /api/v1/namespaces/a/pods/x", { verb: "get", resource: "pods", namespace: "a", name: "x" }],
    ["GET /api/v1/namespaces/a/pods/x?watch=true", { verb: "get", resource: "pods", namespace: "a", name: "x" }],
    [
      "GET /api/v1/namespaces/a/pods/x/status",
      { verb: "get", resource: "pods", namespace: "a", name: "x", subresource: "status" },
    ],
    [
      "GET /api/v1/namespaces/a/pods/x/proxy/y/z",
      { verb: "get", resource: "pods", namespace: "a", name: "x", subresource: "proxy", rest: ["y", "z"] },
    ],
    ["POST /api/v1/namespaces/a/pods", { verb: "create", resource: "pods", namespace: "a" }],
    ["PUT /api/v1/namespaces/a/pods/x", { verb: "update", resource: "pods", namespace: "a", name: "x" }],
    ["PATCH /api/v1/namespaces/a/pods/x", { verb: "patch", resource: "pods", namespace: "a", name: "x" }],
    ["DELETE /api/v1/namespaces/a/pods/x", { verb: "delete", resource: "pods", namespace: "a", name: "x" }],
    ["DELETE /api/v1/namespaces/a/pods", { verb: "deletecollection", resource: "pods", namespace: "a" }],
    ["OPTIONS /api/v1/pods", { verb: "", resource: "pods" }],
    ["GET /api/v1/namespaces", { verb: "list", resource: "namespaces" }],
    ["GET /api/v1/namespaces/a", { verb: "get", resource: "namespaces", name: "a" }],
    ["GET /api/v1/namespaces/a/status", { verb: "get", resource: "namespaces", name: "a", subresource: "status" }],
    [
      "PUT /api/v1/namespaces/a/finalize",
      { verb: "update", resource: "namespaces", name: "a", subresource: "finalize" },
    ],
    ["GET /api/v1/namespaces//pods", { verb: "list", resource: "pods" }],
    ["GET /api/v1/watch/pods", { verb: "watch", resource: "pods" }],
    ["GET /api/v1/watch/namespaces/a/pods/x", { verb: "watch", resource: "pods", namespace: "a", name: "x" }],
    ["GET /api/v1/watch/namespaces/a", { verb: "watch", resource: "namespaces", name: "a" }],
    ["GET /api/v1/watch", { verb: "list", resource: "watch" }],
    ["GET /apis/apps/v1/deployments", { verb: "list", apiPrefix: "apis", group: "apps", resource: "deployments" }],
    [
      "GET /apis/apps/v1/namespaces/a/deployments/x/scale",
      {
        verb: "get",
        apiPrefix: "apis",
        group: "apps",
        resource: "deployments",
        namespace: "a",
        name: "x",
        subresource: "scale",
      },
    ],
    ["GET /api/v1/namespaces/a%2Fpods", { verb: "list", resource: "pods", namespace: "a" }],
    ["GET /api/v1/nodes/%E2%82%AC%20x", { verb: "get", resource: "nodes", name: "€ x" }],
    ["GET /api/v1/nodes/__proto__", { verb: "get", resource: "nodes", name: "__proto__" }],
  ];
  test.each(resources)("finds verb, resource, namespace and name of %s", (line, expected) => {
    const { segments, path: _path, ...info } = infoOf(line)!;
    expect(info).toEqual({ ...EMPTY, ...expected });
    expect(segments[0]).toBe(info.apiPrefix);
  });

  const others: readonly (readonly [line: string, info: Partial<RequestInfo>])[] = [
    ["GET /", { apiPrefix: "", segments: [] }],
    ["GET ", { apiPrefix: "", segments: [] }],
    ["GET //", { apiPrefix: "", segments: [] }],
    ["GET /healthz/ping/", { apiPrefix: "healthz", segments: ["healthz", "ping"] }],
    ["GET /api", { apiPrefix: "api", segments: ["api"] }],
    ["GET /api/v1", { apiPrefix: "api", version: "v1", segments: ["api", "v1"] }],
    ["GET /api/v1/", { apiPrefix: "api", version: "v1", segments: ["api", "v1"] }],
    ["GET /apis", { apiPrefix: "apis", segments: ["apis"] }],
    ["GET /apis/apps", { apiPrefix: "apis", group: "apps", segments: ["apis", "apps"] }],
    ["GET /apis/apps/v1/", { apiPrefix: "apis", group: "apps", version: "v1", segments: ["apis", "apps", "v1"] }],
    ["GET /apix/v1/pods", { apiPrefix: "apix", segments: ["apix", "v1", "pods"] }],
  ];
  test.each(others)("treats %s as a non-resource request", (line, expected) => {
    expect(infoOf(line)).toEqual({
      ...EMPTY,
      isResourceRequest: false,
      verb: "get",
      resource: "",
      version: "",
      path: line.split(" ")[1],
      ...expected,
    });
  });

  test("decodes the path and otherwise keeps it as sent", () => {
    expect(infoOf("GET /healthz%2Fping/")?.path).toBe("/healthz/ping/");
    expect(infoOf("GET /api/v1/pods/%61")).toMatchObject({ path: "/api/v1/pods/a", name: "a" });
  });

  test.each(["/api/v1/%", "/api/v1/%zz", "/api/v1/%ff", "/%c3%28"])(
    "returns undefined for %s, which cannot be decoded",
    (path) => {
      expect(parseRequestInfo("GET", path, new Query(""))).toBeUndefined();
    },
  );
});

describe("the query", () => {
  test.each([
    ["", "a", []],
    ["a=1", "a", ["1"]],
    ["a=1&a=2&b=3", "a", ["1", "2"]],
    ["a", "a", [""]],
    ["a=", "a", [""]],
    ["&&a=1&", "a", ["1"]],
    ["a=b=c", "a", ["b=c"]],
    ["a=x+y%2Bz", "a", ["x y+z"]],
    ["%61=1", "a", ["1"]],
    ["a=%zz+", "a", ["%zz+"]],
    ["a=%ff", "a", ["%ff"]],
    ["__proto__=1", "__proto__", ["1"]],
    ["a=1", "constructor", []],
  ])("%j has for the parameter %s the values %j", (raw, name, values) => {
    const query = new Query(raw);
    expect(query.all(name)).toEqual(values);
    expect(query.get(name)).toBe(values[0]);
    expect(query.has(name)).toBe(values.length > 0);
  });

  test("has at most 200 parameters", () => {
    const query = new Query(`${"x=1&".repeat(100_000)}y=1`);
    expect(query.all("x")).toHaveLength(200);
    expect(query.has("y")).toBe(false);
  });
});

test("parseBoolean accepts the booleans that Go accepts", () => {
  for (const text of ["1", "t", "T", "true", "TRUE", "True"]) expect(parseBoolean(text)).toBe(true);
  for (const text of ["0", "f", "F", "false", "FALSE", "False"]) expect(parseBoolean(text)).toBe(false);
  for (const text of ["", "yes", "tRUE", " true"]) expect(parseBoolean(text)).toBeUndefined();
});
