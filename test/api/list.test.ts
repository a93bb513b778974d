import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, header, names, startServer, type Json, type TestServer } from "./start.ts";

async function withFive(api: TestServer): Promise<void> {
  for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
    await api.create(CONFIG_MAPS, configMap(name, { metadata: { labels: { odd: String(index % 2), n: name } } }));
  }
}

describe("a list", () => {
  test("has its own kind and resource version, and items without kind and apiVersion", async () => {
    await using api = await startServer();
    const { body: created } = await api.create(CONFIG_MAPS, configMap("a"));
    const { body } = await api.get(CONFIG_MAPS);
    const { kind: _kind, apiVersion: _apiVersion, ...item } = created;
    expect(body).toEqual({
      kind: "ConfigMapList",
      apiVersion: "v1",
      metadata: { resourceVersion: created.metadata.resourceVersion },
      items: [item],
    });
  });

  test("of all namespaces is ordered by namespace and name", async () => {
    await using api = await startServer();
    for (const namespace of ["kube-system", "default"]) {
      for (const name of ["b", "a"]) await api.create(`/api/v1/namespaces/${namespace}/configmaps`, configMap(name));
    }
    const { body } = await api.get("/api/v1/configmaps");
    expect(body.items.map(({ metadata }: Json) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      "default/a",
      "default/b",
      "kube-system/a",
      "kube-system/b",
    ]);
  });

  test("of a namespace does not include a namespace whose name begins with its name", async () => {
    await using api = await startServer();
    for (const namespace of ["team", "team-a"]) {
      await api.create("/api/v1/namespaces", { metadata: { name: namespace } });
      await api.create(`/api/v1/namespaces/${namespace}/configmaps`, configMap(`in-${namespace}`));
    }
    expect(names(await api.get("/api/v1/namespaces/team/configmaps"))).toEqual(["in-team"]);
  });

  test("contains every write that was acknowledged before it, also through another server", async () => {
    await using api = await startServer();
    await using other = await startServer({ world: api.world });
    await other.create(CONFIG_MAPS, configMap("elsewhere"));
    expect(names(await api.get(CONFIG_MAPS))).toEqual(["elsewhere"]);
    expect((await api.get(`${CONFIG_MAPS}/elsewhere`)).status).toBe(200);
  });
});

describe("a paged list", () => {
  test("returns pages at one resource version with the number of remaining items", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=2`);
    expect(names(first)).toEqual(["a", "b"]);
    expect(first.body.metadata).toMatchObject({ remainingItemCount: 3, continue: expect.any(String) });
    const second = await api.get(`${CONFIG_MAPS}?limit=2&continue=${first.body.metadata.continue}`);
    expect(names(second)).toEqual(["c", "d"]);
    expect(second.body.metadata.remainingItemCount).toBe(1);
    const third = await api.get(`${CONFIG_MAPS}?limit=2&continue=${second.body.metadata.continue}`);
    expect(names(third)).toEqual(["e"]);
    expect(third.body.metadata).toEqual({ resourceVersion: first.body.metadata.resourceVersion });
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  test("has no continue token if the limit equals the number of items", async () => {
    await using api = await startServer();
    await withFive(api);
    expect((await api.get(`${CONFIG_MAPS}?limit=5`)).body.metadata).not.toHaveProperty("continue");
  });

  test("returns in later pages the objects of the first page's resource version", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=2`);
    await api.delete(`${CONFIG_MAPS}/c`);
    await api.mergePatch(`${CONFIG_MAPS}/d`, { data: { a: "changed" } });
    await api.create(CONFIG_MAPS, configMap("dd"));
    const rest = await api.get(`${CONFIG_MAPS}?continue=${first.body.metadata.continue}`);
    expect(names(rest)).toEqual(["c", "d", "e"]);
    expect(rest.body.items[1].data).toEqual({ a: "1" });
  });

  test("continues through all namespaces", async () => {
    await using api = await startServer();
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("z"));
    await withFive(api);
    const seen: string[] = [];
    for (let token = ""; ;) {
      const page = await api.get(`/api/v1/configmaps?limit=1&continue=${token}`);
      seen.push(...names(page));
      token = page.body.metadata.continue ?? "";
      if (token === "") break;
    }
    expect(seen).toEqual(["a", "b", "c", "d", "e", "z"]);
  });

  test("with a selector fills its pages as long as objects match, and does not report the number of remaining items", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=2&labelSelector=odd%3D0`);
    expect(names(first)).toEqual(["a", "c"]);
    expect(first.body.metadata.continue).toBeDefined();
    expect(first.body.metadata).not.toHaveProperty("remainingItemCount");
    const second = await api.get(
      `${CONFIG_MAPS}?limit=2&labelSelector=odd%3D0&continue=${first.body.metadata.continue}`,
    );
    expect(names(second)).toEqual(["e"]);
    expect(second.body.metadata).not.toHaveProperty("continue");
  });

  test("returns 410 with a new token that continues at the current state if the history is compacted", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=2`);
    await api.delete(`${CONFIG_MAPS}/c`);
    await api.kv.compact(await api.kv.currentRevision());
    const expired = await api.get(`${CONFIG_MAPS}?limit=2&continue=${first.body.metadata.continue}`);
    expect(expired.status).toBe(410);
    expect(expired.body).toMatchObject({ reason: "Expired", metadata: { continue: expect.any(String) } });
    const rest = await api.get(`${CONFIG_MAPS}?continue=${expired.body.metadata.continue}`);
    expect(names(rest)).toEqual(["d", "e"]);
    expect(rest.body.metadata.resourceVersion).not.toBe(first.body.metadata.resourceVersion);
  });

  test("can continue for five minutes, and its token expires within 15 minutes", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=2`);
    await api.delete(`${CONFIG_MAPS}/c`);
    await api.world.advance(4.9 * 60_000);
    expect((await api.get(`${CONFIG_MAPS}?limit=2&continue=${first.body.metadata.continue}`)).status).toBe(200);
    await api.world.advance(10 * 60_000);
    expect((await api.get(`${CONFIG_MAPS}?limit=2&continue=${first.body.metadata.continue}`)).status).toBe(410);
  });

  test("with the token of such a 410 response continues over several pages", async () => {
    await using api = await startServer();
    await withFive(api);
    const first = await api.get(`${CONFIG_MAPS}?limit=1`);
    await api.delete(`${CONFIG_MAPS}/e`);
    await api.kv.compact(await api.kv.currentRevision());
    const expired = await api.get(`${CONFIG_MAPS}?limit=2&continue=${first.body.metadata.continue}`);
    const second = await api.get(`${CONFIG_MAPS}?limit=2&continue=${expired.body.metadata.continue}`);
    expect(names(second)).toEqual(["b", "c"]);
    expect(names(await api.get(`${CONFIG_MAPS}?limit=2&continue=${second.body.metadata.continue}`))).toEqual(["d"]);
  });

  const token = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  test.each([
    ["garbage", "garbage"],
    ["another version", token({ v: "v9", rv: 1, start: "a" })],
    ["no revision", token({ v: "meta.k8s.io/v1", rv: 0, start: "a" })],
    ["no start", token({ v: "meta.k8s.io/v1", rv: 1, start: "" })],
    ["a start outside the collection", token({ v: "meta.k8s.io/v1", rv: 1, start: "../kube-system/a" })],
    ["an absolute start", token({ v: "meta.k8s.io/v1", rv: 1, start: "/registry/secrets/" })],
    ["something that is not an object", token([1])],
  ])("with %s in its token returns 400", async (_what, text) => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?continue=${text}`);
    expect(response.status).toBe(400);
    expect(response.body.message).toMatch(/^invalid continue token: continue key is not valid: /);
  });

  test("with a token of another list returns only objects that match its own namespace and selector", async () => {
    await using api = await startServer();
    await withFive(api);
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("z"));
    const { body } = await api.get(`${CONFIG_MAPS}?limit=2`);
    const narrowed = `${CONFIG_MAPS}?fieldSelector=metadata.name%3Da&continue=${body.metadata.continue}`;
    expect(names(await api.get(narrowed))).toEqual([]);
    const elsewhere = `/api/v1/namespaces/kube-system/configmaps?continue=${body.metadata.continue}`;
    expect(names(await api.get(elsewhere))).toEqual(["z"]);
  });

  test("with a token for a future resourceVersion returns 504, as every list at a future resourceVersion", async () => {
    await using api = await startServer();
    const response = await api.get(
      `${CONFIG_MAPS}?continue=${token({ v: "meta.k8s.io/v1", rv: 99999999, start: "a" })}`,
    );
    expect(response.status).toBe(504);
  });

  test("with both continue and resourceVersion is rejected, unless resourceVersion is 0", async () => {
    await using api = await startServer();
    await withFive(api);
    const { body } = await api.get(`${CONFIG_MAPS}?limit=2`);
    const both = await api.get(`${CONFIG_MAPS}?continue=${body.metadata.continue}&resourceVersion=5`);
    expect(both.status).toBe(400);
    expect(both.body.message).toBe("specifying resource version is not allowed when using continue");
    expect((await api.get(`${CONFIG_MAPS}?continue=${body.metadata.continue}&resourceVersion=0`)).status).toBe(200);
  });

  test("ignores a negative limit, and rejects a limit that is not a number", async () => {
    await using api = await startServer();
    await withFive(api);
    expect(names(await api.get(`${CONFIG_MAPS}?limit=-1`))).toHaveLength(5);
    expect((await api.get(`${CONFIG_MAPS}?limit=abc`)).body.message).toBe(
      'strconv.ParseInt: parsing "abc": invalid syntax',
    );
  });
});

describe("resourceVersion and resourceVersionMatch:", () => {
  async function withTwo(api: TestServer): Promise<{ first: string; second: string }> {
    const first = (await api.create(CONFIG_MAPS, configMap("a"))).body.metadata.resourceVersion;
    const second = (await api.create(CONFIG_MAPS, configMap("b"))).body.metadata.resourceVersion;
    return { first, second };
  }

  const cases: [string, (versions: { first: string }) => string, string[]][] = [
    ["no version returns the newest state", () => "", ["a", "b"]],
    ["version 0 returns any state", () => "resourceVersion=0", ["a", "b"]],
    ["version 0 ignores the limit", () => "resourceVersion=0&limit=1", ["a", "b"]],
    ["a version returns a state that is not older", ({ first }) => `resourceVersion=${first}`, ["a", "b"]],
    ["a version with a limit returns exactly that state", ({ first }) => `resourceVersion=${first}&limit=5`, ["a"]],
    ["Exact returns exactly that state", ({ first }) => `resourceVersion=${first}&resourceVersionMatch=Exact`, ["a"]],
    [
      "NotOlderThan returns a state that is not older",
      ({ first }) => `resourceVersion=${first}&resourceVersionMatch=NotOlderThan`,
      ["a", "b"],
    ],
    [
      "NotOlderThan with a limit returns a state that is not older",
      ({ first }) => `resourceVersion=${first}&resourceVersionMatch=NotOlderThan&limit=5`,
      ["a", "b"],
    ],
    [
      "NotOlderThan with version 0 returns any state",
      () => "resourceVersion=0&resourceVersionMatch=NotOlderThan",
      ["a", "b"],
    ],
  ];
  test.each(cases)("%s", async (_rule, query, expected) => {
    await using api = await startServer();
    const versions = await withTwo(api);
    const response = await api.get(`${CONFIG_MAPS}?${query(versions)}`);
    expect(response.status).toBe(200);
    expect(names(response)).toEqual(expected);
  });

  test("an exact list returns the requested resource version", async () => {
    await using api = await startServer();
    const { first } = await withTwo(api);
    expect(
      (await api.get(`${CONFIG_MAPS}?resourceVersion=${first}&resourceVersionMatch=Exact`)).body.metadata
        .resourceVersion,
    ).toBe(first);
  });

  test.each([
    [
      "resourceVersionMatch=Exact",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    ],
    [
      "resourceVersionMatch=NotOlderThan",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    ],
    [
      "resourceVersion=0&resourceVersionMatch=Exact",
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersion=5&resourceVersionMatch=Bogus",
      'resourceVersionMatch: Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      "continue=x&resourceVersion=5&resourceVersionMatch=Exact",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ],
    [
      "sendInitialEvents=true&resourceVersion=5",
      "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
    ],
  ])("the combination %s is invalid", async (query, sentence) => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?${query}`);
    expect(response.status).toBe(422);
    expect(response.body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: ${sentence}`);
  });

  test("a resourceVersion that is not a number is rejected", async () => {
    await using api = await startServer();
    for (const target of [CONFIG_MAPS, `${CONFIG_MAPS}/a`]) {
      const response = await api.get(`${target}?resourceVersion=abc`);
      expect(response.status).toBe(400);
      expect(response.body.message).toBe(
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
      );
    }
  });

  test("an exact future resourceVersion returns 504", async () => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?resourceVersion=99999999&resourceVersionMatch=Exact`);
    expect(response.status).toBe(504);
    expect(response.body).toMatchObject({
      reason: "Timeout",
      details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
    });
  });

  test.each([`${CONFIG_MAPS}?resourceVersion=99999999`, `${CONFIG_MAPS}/a?resourceVersion=99999999`])(
    "a request for a future resourceVersion waits three seconds, then returns 504: %s",
    async (target) => {
      await using api = await startServer();
      await withTwo(api);
      const started = api.world.clock.monotonic();
      const response = await api.get(target);
      expect(api.world.clock.monotonic() - started).toBe(3_000);
      expect(response.status).toBe(504);
      expect(response.body).toMatchObject({
        reason: "Timeout",
        details: {
          retryAfterSeconds: 1,
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
        },
      });
      expect(response.body.message).toMatch(/Too large resource version: 99999999, current: [0-9]+/);
      expect(header(response, "retry-after")).toBe("1");
    },
  );

  test("a request for a future resourceVersion is served if the store reaches it within three seconds", async () => {
    await using api = await startServer();
    const { second } = await withTwo(api);
    const waiting = api.begin("GET", `${CONFIG_MAPS}?resourceVersion=${Number(second) + 1}`);
    await api.world.advance(1_000);
    await api.create(CONFIG_MAPS, configMap("c"));
    expect(names(await api.world.run(waiting))).toEqual(["a", "b", "c"]);
  });

  test("an exact resourceVersion that is compacted returns 410", async () => {
    await using api = await startServer();
    const { first } = await withTwo(api);
    await api.kv.compact(await api.kv.currentRevision());
    const response = await api.get(`${CONFIG_MAPS}?resourceVersion=${first}&resourceVersionMatch=Exact`);
    expect(response.status).toBe(410);
    expect(response.body.reason).toBe("Expired");
  });

  test("a GET with a compacted resourceVersion as its minimum is served", async () => {
    await using api = await startServer();
    const { first } = await withTwo(api);
    await api.kv.compact(await api.kv.currentRevision());
    expect((await api.get(`${CONFIG_MAPS}/a?resourceVersion=${first}`)).status).toBe(200);
    expect((await api.get(`${CONFIG_MAPS}/a?resourceVersion=0`)).status).toBe(200);
  });
});
