import { describe, expect, test } from "vitest";
import { lastManager, objectWrite } from "./object-write.ts";

const CONFIG_MAP = { metadata: { name: "a", namespace: "b" }, data: { key: "value" } };
const AT = "/api/v1/namespaces/b/configmaps/a";

function put(body: unknown, target = AT, method = "PUT"): ReturnType<typeof objectWrite> {
  return objectWrite({ method, target, body });
}

describe("a write", () => {
  test.each([
    ["PUT", AT, { key: AT, path: AT, resource: "configmaps", namespace: "b", name: "a", isCreate: false }],
    ["POST", "/api/v1/namespaces/b/configmaps", { key: AT, path: AT, namespace: "b", name: "a", isCreate: true }],
    ["PUT", "/api/v1/namespaces/b/status", { path: "/api/v1/namespaces/b", resource: "namespaces", namespace: "" }],
    ["PUT", "/api/v1/namespaces/b", { path: "/api/v1/namespaces/b", resource: "namespaces", name: "b" }],
    ["POST", "/api/v1/namespaces", { path: "/api/v1/namespaces/a", resource: "namespaces", name: "a" }],
    ["PUT", `/api/v1/namespaces/b/resourcequotas/q/status`, { path: "/api/v1/namespaces/b/resourcequotas/q" }],
    [
      "PATCH",
      "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin?fieldManager=x&force=true",
      { resource: "clusterroles.rbac.authorization.k8s.io", namespace: "", name: "admin" },
    ],
  ])("%s %s is recognized", (method, target, expected) => {
    expect(put(CONFIG_MAP, target, method)).toMatchObject(expected);
  });

  test.each([
    ["GET", AT, undefined],
    ["DELETE", AT, { kind: "DeleteOptions" }],
    ["PUT", `${AT}?dryRun=All`, CONFIG_MAP],
    ["POST", "/api/v1/namespaces/b/pods/p/eviction", CONFIG_MAP],
    ["POST", "/api/v1/namespaces/b/events", { metadata: { generateName: "a" } }],
    ["PATCH", AT, [{ op: "remove", path: "/data" }]],
    ["POST", "/evenkeel/v1/status", CONFIG_MAP],
  ])("%s %s of no single object, or without an effect, is ignored", (method, target, body) => {
    expect(put(body, target, method)).toBeUndefined();
  });

  test("equals another one that differs only in the fields that the server sets", () => {
    const metadata = { ...CONFIG_MAP.metadata, resourceVersion: "5", managedFields: [{}], generation: 2 };
    expect(put({ ...CONFIG_MAP, metadata })!.content).toBe(put(CONFIG_MAP)!.content);
    expect(put({ ...CONFIG_MAP, data: {} })!.content).not.toBe(put(CONFIG_MAP)!.content);
    const labels = { ...CONFIG_MAP.metadata, labels: { a: "b" } };
    expect(put({ ...CONFIG_MAP, metadata: labels })!.content).not.toBe(put(CONFIG_MAP)!.content);
  });
});

describe("the field manager that wrote an object last", () => {
  const entry = (manager: string, time: string): object => ({ manager, time: `2030-01-01T00:00:0${time}Z` });
  const last = (...managedFields: object[]): string | undefined => lastManager({ metadata: { managedFields } });

  test("is that of the newest entry", () => {
    expect(last(entry("kcm", "2"), entry("kubectl", "1"))).toBe("kcm");
  });

  test("is none if an API server wrote last", () => {
    expect(last(entry("kcm", "1"), entry("kube-apiserver", "2"))).toBeUndefined();
    expect(last()).toBeUndefined();
  });

  test("is the other one if an API server wrote in the same second", () => {
    expect(last(entry("kube-apiserver", "2"), entry("kcm", "2"))).toBe("kcm");
  });
});
