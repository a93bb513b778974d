import { describe, expect, test } from "vitest";
import { ERROR_BYTES_MAX } from "./client-limits.ts";
import { World } from "../tools/simulator/world.ts";
import { createClient, type Client, type ClientOptions } from "./client.ts";
import {
  collect,
  CONFIG_MAPS,
  configMap,
  list,
  NAMESPACES,
  rejects,
  ScriptedStream,
  ScriptedTransport,
  status,
  type Reply,
} from "../../test/testing/client/scripted-transport.ts";

interface Setup {
  readonly world: World;
  readonly transport: ScriptedTransport;
  readonly client: Client;
}

function setup(replies: Reply[], defaults: NonNullable<ClientOptions["defaults"]> = {}): Setup {
  const world = new World({ seed: 1 });
  const transport = new ScriptedTransport(...replies);
  const client = createClient({
    transport,
    clock: world.clock,
    random: world.randomFor("client"),
    userAgent: "tests",
    defaults,
  });
  return { world, transport, client };
}

const KEY = { namespace: "default", name: "a" };
const busy: Reply = {
  status: 429,
  headers: { "retry-after": "2" },
  body: status(429, "TooManyRequests", "slow down", { retryAfterSeconds: 2 }),
};
const ok: Reply = { status: 200, body: configMap("a", 1) };

describe("retries", () => {
  test("the client waits for the Retry-After of the server, then sends the same request again, including its body", async () => {
    const { world, transport, client } = setup([busy, busy, ok]);
    const before = world.clock.monotonic();
    await world.run(client.resource(CONFIG_MAPS).create(configMap("a", 1)));
    expect(world.clock.monotonic() - before).toBe(4_000);
    expect(transport.requests).toHaveLength(3);
    expect(transport.requests[2]!.body).toEqual(transport.requests[0]!.body);
    expect(transport.requests[2]!.body!.length).toBeGreaterThan(10);
  });

  test("after ten retries the caller receives the server's error", async () => {
    const { world, transport, client } = setup(Array.from({ length: 20 }, () => busy));
    await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({
      reason: "TooManyRequests",
      message: "slow down",
      details: { retryAfterSeconds: 2 },
    });
    expect(transport.requests).toHaveLength(11);
  });

  test("a client with retriesMax 0 does not retry", async () => {
    const { world, transport, client } = setup([busy, ok], { retriesMax: 0 });
    await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({ code: 429 });
    expect(transport.requests).toHaveLength(1);
  });

  test("a read is retried after a broken connection, a write is not", async () => {
    const { world, transport, client } = setup([{ failure: "reset" }, ok, { failure: "reset" }]);
    await world.run(client.resource(CONFIG_MAPS).get(KEY));
    expect(transport.requests).toHaveLength(2);
    await expect(world.run(client.resource(CONFIG_MAPS).create(configMap("a", 1)))).rejects.toMatchObject({
      failure: "reset",
    });
    expect(transport.requests).toHaveLength(3);
  });

  test("a wait ends when the caller's signal aborts", async () => {
    const { world, transport, client } = setup([busy, ok]);
    const giveUp = new AbortController();
    const getting = client.resource(CONFIG_MAPS).get(KEY, { signal: giveUp.signal });
    getting.catch(() => {});
    await world.advance(1_000);
    giveUp.abort();
    await expect(getting).rejects.toMatchObject({ failure: "aborted" });
    expect(transport.requests).toHaveLength(1);
  });

  test("one timeout covers all attempts together", async () => {
    const { world, client } = setup([busy, busy, ok], { timeoutMs: 3_000 });
    await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({ failure: "timeout" });
    expect(world.clock.monotonic()).toBe(3_000);
  });

  test("a request whose signal aborted before the call is not sent", async () => {
    const { world, transport, client } = setup([ok]);
    const getting = client.resource(CONFIG_MAPS).get(KEY, { signal: AbortSignal.abort() });
    await expect(world.run(getting)).rejects.toMatchObject({ failure: "aborted" });
    expect(transport.requests).toEqual([]);
  });

  test("a request without a response times out, and leaves no listener on the caller's signal", async () => {
    const { world, client } = setup([]);
    const { signal } = new AbortController();
    let listeners = 0;
    const counting = Object.create(signal, {
      aborted: { value: false },
      addEventListener: { value: () => listeners++ },
      removeEventListener: { value: () => listeners-- },
    }) as AbortSignal;
    await expect(
      world.run(client.resource(CONFIG_MAPS).get(KEY, { timeoutMs: 10, signal: counting })),
    ).rejects.toMatchObject({ failure: "timeout" });
    expect(listeners).toBe(0);
  });

  test("the opening of a watch is retried if the server asks for it, but not after a broken connection", async () => {
    const { world, transport, client } = setup([busy, new ScriptedStream().end(), { failure: "reset" }]);
    const configMaps = client.resource(CONFIG_MAPS);
    expect(await world.run(collect(configMaps.watch()))).toEqual([]);
    await expect(world.run(collect(configMaps.watch()))).rejects.toMatchObject({ failure: "reset" });
    expect(transport.requests).toHaveLength(3);
  });
});

describe("errors", () => {
  test("a Status in a response is thrown as the equal StatusError", async () => {
    const body = status(409, "Conflict", "changed meanwhile", {
      name: "a",
      kind: "configmaps",
      causes: [{ message: "x", field: "y" }],
    });
    const { world, client } = setup([{ status: 409, body }]);
    await expect(world.run(client.resource(CONFIG_MAPS).replace(configMap("a", 1)))).rejects.toMatchObject({
      name: "StatusError",
      reason: "Conflict",
      code: 409,
      message: "changed meanwhile",
      details: { name: "a", kind: "configmaps", causes: [{ message: "x", field: "y" }] },
    });
  });

  test.each([
    [400, "BadRequest"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [405, "MethodNotAllowed"],
    [410, "Expired"],
    [413, "RequestEntityTooLarge"],
    [415, "UnsupportedMediaType"],
    [418, "BadRequest"],
    [422, "Invalid"],
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [502, "InternalError"],
    [503, "ServiceUnavailable"],
    [504, "Timeout"],
    [302, "InternalError"],
  ])("a %i without a Status is thrown with the reason %s", async (code, reason) => {
    const { world, client } = setup([{ status: code, body: "<html>who knows</html>" }]);
    const thrown = await world.run(
      client
        .resource(CONFIG_MAPS)
        .get(KEY)
        .catch((error: unknown) => error),
    );
    expect(thrown).toMatchObject({ name: "StatusError", reason, message: expect.stringContaining("who knows") });
  });

  test("a 409 without a Status is thrown with the reason Conflict, or AlreadyExists after a create", async () => {
    const { world, client } = setup([
      { status: 409, body: "" },
      { status: 409, body: "" },
    ]);
    const configMaps = client.resource(CONFIG_MAPS);
    await expect(world.run(configMaps.replace(configMap("a", 1)))).rejects.toMatchObject({ reason: "Conflict" });
    await expect(world.run(configMaps.create(configMap("a", 1)))).rejects.toMatchObject({ reason: "AlreadyExists" });
  });

  test.each([
    ["Gone", 410, "Expired"],
    ["ServerTimeout", 500, "InternalError"],
    ["constructor", 404, "NotFound"],
  ])("an unknown reason (%s) is replaced by the default reason of the status code", async (reason, code, ours) => {
    const { world, client } = setup([{ status: code, body: status(code, reason) }]);
    await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({ reason: ours });
  });

  test("fields of a Status that have a wrong type are omitted", async () => {
    const body = { kind: "Status", message: 7, reason: [], details: { name: {}, causes: "x", retryAfterSeconds: "1" } };
    const { world, client } = setup([{ status: 404, body }]);
    const thrown = await world.run(
      client
        .resource(CONFIG_MAPS)
        .get(KEY)
        .catch((error: unknown) => error),
    );
    expect(thrown).toMatchObject({ reason: "NotFound", message: "" });
    expect((thrown as { details: object }).details).toEqual({});
  });

  test.each(["", "not JSON", "[]", "null"])(
    "a response that is not a JSON object (%j) is reported as malformed",
    async (body) => {
      const { world, client } = setup([{ status: 200, body }]);
      await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({ failure: "malformed" });
    },
  );

  test("an error response whose body exceeds the limit is reported as malformed", async () => {
    const { world, client } = setup([{ status: 500, body: "x".repeat(ERROR_BYTES_MAX + 1) }]);
    await expect(world.run(client.resource(CONFIG_MAPS).get(KEY))).rejects.toMatchObject({ failure: "malformed" });
  });

  test("a list whose items are not an array is reported as malformed", async () => {
    const { world, client } = setup([{ status: 200, body: { kind: "ConfigMapList", items: {} } }]);
    await expect(world.run(client.resource(CONFIG_MAPS).list())).rejects.toMatchObject({ failure: "malformed" });
  });
});

describe("requests", () => {
  test("every verb sends the HTTP method and path of the Kubernetes API", async () => {
    const { world, transport, client } = setup(Array.from({ length: 20 }, () => ok));
    const configMaps = client.resource(CONFIG_MAPS);
    const deployments = client.resource({ group: "apps", version: "v1", resource: "deployments", namespaced: true });
    const object = configMap("a", 1);
    await world.run(configMaps.get(KEY, { resourceVersion: "0" }));
    await world.run(client.resource(NAMESPACES).get({ name: "x" }));
    await world.run(
      configMaps.list({
        labelSelector: "a=b,c",
        fieldSelector: "metadata.name=x",
        limit: 5,
        resourceVersion: "7",
        resourceVersionMatch: "Exact",
      }),
    );
    await world.run(configMaps.list({ namespace: "default" }));
    await world.run(configMaps.create(object, { dryRun: "All", fieldManager: "me", fieldValidation: "Strict" }));
    await world.run(deployments.replaceStatus(object));
    await world.run(deployments.get(KEY, { subresource: "scale" }));
    await world.run(configMaps.patch(KEY, { type: "json", body: [] }, { fieldManager: "me" }));
    await world.run(configMaps.apply(object, { fieldManager: "me", force: true }));
    await world.run(configMaps.delete(KEY));
    await world.run(configMaps.deleteCollection({ namespace: "default", labelSelector: "a=b" }));
    expect(transport.asked).toEqual([
      "GET /api/v1/namespaces/default/configmaps/a?resourceVersion=0",
      "GET /api/v1/namespaces/x",
      "GET /api/v1/configmaps?labelSelector=a=b,c&fieldSelector=metadata.name=x&limit=5&resourceVersion=7&resourceVersionMatch=Exact",
      "GET /api/v1/namespaces/default/configmaps",
      "POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict",
      "PUT /apis/apps/v1/namespaces/default/deployments/a/status",
      "GET /apis/apps/v1/namespaces/default/deployments/a/scale",
      "PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=me",
      "PATCH /api/v1/namespaces/default/configmaps/a?fieldManager=me&force=true",
      "DELETE /api/v1/namespaces/default/configmaps/a",
      "DELETE /api/v1/namespaces/default/configmaps?labelSelector=a=b",
    ]);
    const types = transport.requests.map(({ headers }) => headers["content-type"]);
    expect([types[0], types[4], types[7], types[8]]).toEqual([
      undefined,
      "application/json",
      "application/json-patch+json",
      "application/apply-patch+yaml",
    ]);
    expect(transport.requests[0]!.headers).toMatchObject({ "user-agent": "tests", accept: "application/json" });
  });

  test("the options of a deletion are sent in its body", async () => {
    const { world, transport, client } = setup([ok]);
    const options = {
      dryRun: "All",
      gracePeriodSeconds: 0,
      propagationPolicy: "Orphan",
      preconditions: { uid: "u" },
    } as const;
    await world.run(client.resource(CONFIG_MAPS).delete(KEY, options));
    const body: unknown = JSON.parse(new TextDecoder().decode(transport.requests[0]!.body));
    expect(body).toEqual({ kind: "DeleteOptions", apiVersion: "v1", ...options, dryRun: ["All"] });
  });

  test.each(["", ".", ".."])(
    "the name %j is rejected by the client, because it would change the path",
    async (name) => {
      const { transport, client } = setup([ok]);
      await expect(async () => client.resource(CONFIG_MAPS).get({ namespace: "default", name })).rejects.toThrow(
        TypeError,
      );
      expect(transport.requests).toEqual([]);
    },
  );

  test("a slash in a name is escaped", async () => {
    const { world, transport, client } = setup([ok]);
    await world.run(client.resource(NAMESPACES).get({ name: "a/b?c" }));
    expect(transport.requests[0]!.target).toBe("/api/v1/namespaces/a%2Fb%3Fc");
  });

  test("a namespaced object without a namespace is rejected by the client", async () => {
    const { client } = setup([ok]);
    await expect(async () => client.resource(CONFIG_MAPS).get({ name: "a" })).rejects.toThrow("namespace");
  });

  test("any path can be requested", async () => {
    const { world, client } = setup([{ status: 200, body: "ok" }, rejects(404, "NotFound")]);
    expect(await world.run(client.request({ method: "GET", target: "/readyz" }))).toMatchObject({
      status: 200,
      text: "ok",
    });
    await expect(world.run(client.request({ method: "GET", target: "/x" }))).rejects.toMatchObject({
      reason: "NotFound",
    });
  });
});

test('with the representation "metadata", each verb names the kind that it returns first in Accept', async () => {
  const deleted: Reply = { status: 200, body: status(200, "", "") };
  const replies: Reply[] = [ok, ok, list(1), new ScriptedStream(), deleted, deleted];
  const { world, transport, client } = setup(replies, { representation: "metadata" });
  const configMaps = client.resource(CONFIG_MAPS);
  await world.run(configMaps.get(KEY));
  await world.run(configMaps.patch(KEY, { type: "merge", body: {} }));
  await world.run(configMaps.list());
  const watch = configMaps.watch();
  const first = watch.next();
  await world.advance(0);
  await world.run(configMaps.delete(KEY));
  await world.run(configMaps.deleteCollection({ namespace: "default" }));
  const ofObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  const ofList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
  const plain = "application/json";
  expect(transport.requests.map(({ headers }) => headers["accept"])).toEqual([
    ...[ofObject, ofObject, ofList, ofObject, plain, plain],
  ]);
  void first;
});

describe("lists", () => {
  const page = (token: string, ...names: string[]): Reply => ({
    status: 200,
    body: {
      kind: "ConfigMapList",
      apiVersion: "v1",
      metadata: { resourceVersion: "9", continue: token },
      items: names.map((name) => ({ metadata: { name } })),
    },
  });

  test("items get the kind and apiVersion of their list, which built-in lists omit", async () => {
    const { world, client } = setup([list(5, configMap("a", 1))]);
    const { items, metadata } = await world.run(client.resource(CONFIG_MAPS).list());
    expect(items).toEqual([configMap("a", 1)]);
    expect(metadata.resourceVersion).toBe("5");
  });

  test("later pages are requested with the continue token, and without resourceVersion", async () => {
    const { world, transport, client } = setup([page("t1", "a", "b"), page("t2", "c"), page("", "d")]);
    const all = await world.run(
      client
        .resource(CONFIG_MAPS)
        .listAll({ limit: 2, resourceVersion: "7", resourceVersionMatch: "Exact", labelSelector: "x" }),
    );
    expect(all.items.map(({ metadata }) => metadata?.name)).toEqual(["a", "b", "c", "d"]);
    expect(all.metadata).toEqual({ resourceVersion: "9" });
    expect(transport.asked).toEqual([
      "GET /api/v1/configmaps?labelSelector=x&limit=2&resourceVersion=7&resourceVersionMatch=Exact",
      "GET /api/v1/configmaps?labelSelector=x&limit=2&continue=t1",
      "GET /api/v1/configmaps?labelSelector=x&limit=2&continue=t2",
    ]);
  });

  test("if the continue token expires, the whole list is requested again without a limit", async () => {
    const { world, transport, client } = setup([page("t1", "a"), rejects(410, "Expired"), page("", "a", "b")]);
    const all = await world.run(client.resource(CONFIG_MAPS).listAll());
    expect(all.items).toHaveLength(2);
    expect(transport.asked.at(-1)).toBe("GET /api/v1/configmaps");
  });

  test("if the first page is rejected, the list fails with that error", async () => {
    const { world, client } = setup([rejects(410, "Expired")]);
    await expect(world.run(client.resource(CONFIG_MAPS).listAll({ resourceVersion: "1" }))).rejects.toMatchObject({
      code: 410,
    });
  });
});

describe("watches", () => {
  test("leaving the loop closes the stream", async () => {
    const stream = new ScriptedStream({ type: "ADDED", object: configMap("a", 1) });
    const { world, client } = setup([stream]);
    const first = async (): Promise<string> => {
      for await (const event of client.resource(CONFIG_MAPS).watch({ namespace: "default" })) return event.type;
      return "nothing";
    };
    expect(await world.run(first())).toBe("ADDED");
    expect(stream.isClosed).toBe(true);
  });

  test("the signal ends a watch that waits for an event", async () => {
    const { world, client } = setup([new ScriptedStream()]);
    const stop = new AbortController();
    const watching = collect(client.resource(CONFIG_MAPS).watch({ signal: stop.signal }));
    watching.catch(() => {});
    await world.advance(1_000);
    stop.abort();
    await expect(watching).rejects.toMatchObject({ failure: "aborted" });
  });
});
