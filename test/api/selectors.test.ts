import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, names, PODS, pod, startServer, type Json, type TestServer } from "./start.ts";

async function withFive(api: TestServer): Promise<void> {
  for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
    await api.create(CONFIG_MAPS, configMap(name, { metadata: { labels: { odd: String(index % 2), n: name } } }));
  }
}

describe("a selector", () => {
  test.each([
    ["odd=1", ["b", "d"]],
    ["odd==1", ["b", "d"]],
    ["odd!=1", ["a", "c", "e"]],
    ["missing!=1", ["a", "b", "c", "d", "e"]],
    ["n in (a,b)", ["a", "b"]],
    ["n notin (a,b),odd", ["c", "d", "e"]],
    ["missing notin (x)", ["a", "b", "c", "d", "e"]],
    ["odd", ["a", "b", "c", "d", "e"]],
    ["!odd", []],
    ["n==", []],
    ["odd>0", ["b", "d"]],
    ["odd<1,n!=a", ["c", "e"]],
  ])("by labels (%s) selects %j", async (selector, expected) => {
    await using api = await startServer();
    await withFive(api);
    expect(names(await api.get(`${CONFIG_MAPS}?labelSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  test.each([
    ["n in a", "unable to parse requirement: found 'a' expected: '('"],
    ["(", "found '(', expected: !, identifier, or 'end of string'"],
  ])("by labels (%s) that is malformed is rejected", async (selector, message) => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?labelSelector=${encodeURIComponent(selector)}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(message);
  });

  test.each([
    ["metadata.name=a", ["a"]],
    ["metadata.name!=a", ["b", "c", "d", "e"]],
    ["metadata.namespace=default", ["a", "b", "c", "d", "e"]],
    ["metadata.namespace=other", []],
    ["metadata.name=a,metadata.name=b", []],
    ["metadata.name=a,metadata.name!=a", []],
  ])("by fields (%s) selects %j", async (selector, expected) => {
    await using api = await startServer();
    await withFive(api);
    expect(names(await api.get(`${CONFIG_MAPS}?fieldSelector=${encodeURIComponent(selector)}`))).toEqual(expected);
  });

  test("by fields can select one object in all namespaces", async () => {
    await using api = await startServer();
    await withFive(api);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("b"));
    const { body } = await api.get("/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault,metadata.name%3Db");
    expect(body.items.map(({ metadata }: Json) => `${metadata.namespace}/${metadata.name}`)).toEqual(["default/b"]);
    expect(names(await api.get("/api/v1/configmaps?fieldSelector=metadata.name%3Db"))).toEqual(["b", "b"]);
  });

  test.each([
    [CONFIG_MAPS, "data.a=1", '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"'],
    [CONFIG_MAPS, "garbage", "invalid selector: 'garbage'; can't understand 'garbage'"],
    [PODS, "spec.bogus=1", "field label not supported: spec.bogus"],
  ])("of %s by the field %s is rejected", async (target, selector, message) => {
    await using api = await startServer();
    const response = await api.get(`${target}?fieldSelector=${encodeURIComponent(selector)}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toBe(message);
  });

  test("of pods can use node and phase, as schedulers and kubelets do", async () => {
    await using api = await startServer();
    await api.create(PODS, pod("placed", { nodeName: "n1" }));
    await api.create(PODS, pod("waiting"));
    await api.mergePatch(`${PODS}/placed/status`, { status: { phase: "Running" } });
    const select = async (selector: string): Promise<string[]> =>
      names(await api.get(`${PODS}?fieldSelector=${encodeURIComponent(selector)}`));
    expect(await select("spec.nodeName=n1")).toEqual(["placed"]);
    expect(await select("spec.nodeName=")).toEqual(["waiting"]);
    expect(await select("spec.host=n1")).toEqual(["placed"]);
    expect(await select("status.phase=Running,spec.nodeName=n1")).toEqual(["placed"]);
    expect(await select("status.phase!=Succeeded,status.phase!=Failed")).toEqual(["placed", "waiting"]);
    expect(await select("spec.hostNetwork=false")).toEqual(["placed", "waiting"]);
  });

  test.each(["constructor", "toString", "__proto__"])(
    "by the label %s, the name of a JavaScript property, matches only objects that have the label",
    async (label) => {
      await using api = await startServer();
      await withFive(api);
      const { status, body } = await api.get(`${CONFIG_MAPS}?labelSelector=${label}`);
      if (status === 200) expect(body.items).toEqual([]);
      expect([200, 400]).toContain(status);
    },
  );

  test("that is too long is rejected", async () => {
    await using api = await startServer();
    expect((await api.get(`${CONFIG_MAPS}?labelSelector=${"a,".repeat(40_000)}a`)).status).toBe(400);
  });
});
