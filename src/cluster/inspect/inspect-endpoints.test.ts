import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { callInProcess, type InProcessResponse } from "../../client/in-process.ts";
import { Query } from "../../serving/http/query.ts";
import { parseRequestInfo } from "../../serving/http/request-info.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { errorResponse } from "../../serving/http/respond.ts";
import { closedSink } from "../../serving/http/closed-sink.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { StatusError } from "../../meta/status-error.ts";
import { StorageError, type Kv } from "../../storage/kv.ts";
import { json, plantedStore } from "../../../test/testing/cluster/inspect/planted-store.ts";
import { inspectEndpoints } from "./inspect-endpoints.ts";

const VERSIONS = "/evenkeel/v1/stored-versions";
const ROLLBACK = "/evenkeel/v1/rollback-check";

interface Asking {
  get(target: string, method?: string): Promise<InProcessResponse>;
  /** The clock, which the test advances. */
  readonly clock: { at: number };
}

function asking(kv: Pick<Kv, "range">): Asking {
  const clock = { at: 0 };
  const endpoints = inspectEndpoints({
    env: { clock: { now: () => 0, monotonic: () => clock.at, after: () => () => {} }, log: SILENT_LOG },
    config: { storageRoot: "/registry/", strictRelease: false },
    catalog: openCatalog({ release: "1.36" }),
    kv,
  });
  const handle = (request: Parameters<Parameters<typeof callInProcess>[0]>[0]): ApiResponse => {
    const query = new Query(request.rawQuery);
    const info = parseRequestInfo(request.method, request.path, query)!;
    return endpoints({ ...request, info, query } as WithInfo) ?? { status: 404, headers: {}, body: { kind: "none" } };
  };
  return {
    clock,
    get: (target, method = "GET") =>
      callInProcess(
        (request) =>
          Promise.resolve(request)
            .then(handle)
            .catch((thrown: unknown) => errorResponse(StatusError.from(thrown))),
        { method, target },
      ),
  };
}

async function lines(response: InProcessResponse): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const CLAIM = { "resourceclaims/default/a": json("resource.k8s.io/v1"), "configmaps/default/c": json("v1") };

describe("a report that reads the store", () => {
  test("is streamed as lines of JSON: first the progress, then the result", async () => {
    const response = await asking(await plantedStore(CLAIM)).get(VERSIONS);
    expect(response.status).toBe(200);
    expect(response.headers["content-type"]).toBe("application/x-ndjson");
    const [first, last, ...more] = await lines(response);
    expect(first).toEqual({ kind: "progress", done: 0, total: 2 });
    expect(last).toMatchObject({ kind: "result", report: { kind: "StoredVersions", release: "1.36", keys: 2 } });
    expect(more).toEqual([]);
  });

  test("reports its progress at intervals, not for every page", async () => {
    const names = Array.from({ length: 1_100 }, (_, index) => [`pods/default/${index}`, json("v1")] as const);
    const kv = await plantedStore(Object.fromEntries(names));
    const asked = asking({
      range: (request) => {
        asked.clock.at += 100;
        return kv.range(request);
      },
    });
    const all = await lines(await asked.get(VERSIONS));
    // The walk counts the keys, reads pages of 100, 500 and 500 keys, and ends. Each read takes 100 ms, so 300 ms pass
    // between the first progress line and that at the end.
    expect(all.map(({ kind, done }) => [kind, done])).toEqual([
      ["progress", 0],
      ["progress", 1_100],
      ["result", undefined],
    ]);
  });

  test("runs alone; another request may start when it has ended", async () => {
    const held = Promise.withResolvers<void>();
    const kv = await plantedStore(CLAIM);
    const { get } = asking({ range: (request) => held.promise.then(() => kv.range(request)) });
    const first = await get(VERSIONS);
    const read = lines(first);
    const second = await get(`${ROLLBACK}?to=1.33`);
    expect(second.status).toBe(429);
    expect(second.headers["retry-after"]).toBe("5");
    expect((await get(VERSIONS, "HEAD")).status).toBe(200);
    held.resolve();
    expect((await read).at(-1)).toMatchObject({ kind: "result" });
    expect((await get(VERSIONS)).status).toBe(200);
  });

  test("ends when its client disconnects, and then another request may start", async () => {
    const kv = await plantedStore(CLAIM);
    let ranges = 0;
    const { get } = asking({ range: (request) => (ranges++, kv.range(request)) });
    const frames = (await get(VERSIONS)).frames();
    const reading = frames.next();
    await frames.return();
    await reading;
    await new Promise((resolve) => setImmediate(resolve));
    expect((await get(VERSIONS)).status).toBe(200);
    expect(ranges).toBeLessThanOrEqual(2);
  });

  test("ends by itself if its client has already disconnected", async () => {
    const kv = await plantedStore(CLAIM);
    const endpoints = inspectEndpoints({
      env: { clock: { now: () => 0, monotonic: () => 0, after: () => () => {} }, log: SILENT_LOG },
      config: { storageRoot: "/registry/", strictRelease: false },
      catalog: openCatalog({ release: "1.36" }),
      kv,
    });
    const query = new Query("");
    const request = { info: parseRequestInfo("GET", VERSIONS, query)!, query } as WithInfo;
    const body = endpoints(request)?.body;
    if (body?.kind === "stream") body.open(closedSink());
    await new Promise((resolve) => setImmediate(resolve));
    expect(endpoints(request)?.status).toBe(200);
  });

  test("reports a failure in its last line, without the details of an internal error", async () => {
    const failing = asking({ range: () => Promise.reject(new StorageError("unavailable", "the store is gone")) });
    expect(await lines(await failing.get(VERSIONS))).toEqual([{ kind: "error", message: "the store is gone" }]);
    const broken = asking({ range: () => Promise.reject(new TypeError("secret")) });
    expect(await lines(await broken.get(VERSIONS))).toEqual([
      { kind: "error", message: "the walk could not be completed" },
    ]);
    expect((await broken.get(VERSIONS)).status).toBe(200);
  });
});

describe("a rollback check", () => {
  test("uses the release and the flags of the query", async () => {
    const { get } = asking(await plantedStore({ "deviceclasses/gpu": json("resource.k8s.io/v1beta1") }));
    const plain = (await lines(await get(`${ROLLBACK}?to=1.33`))).at(-1);
    expect(plain).toMatchObject({
      report: { to: "1.33", findings: [{ problem: "unserved", names: [{ name: "gpu" }] }] },
    });
    const reported = await get(
      `${ROLLBACK}?to=1.33&runtimeConfig=resource.k8s.io/v1beta1%3Dtrue&featureGates=Other%3Dtrue`,
    );
    expect((await lines(reported)).at(-1)).toMatchObject({ report: { to: "1.33", findings: [] } });
  });

  test("reports no finding for StorageVersions, whatever the release", async () => {
    const stored = { "storageversions/core.pods": json("internal.apiserver.k8s.io/v1alpha1") };
    const { get } = asking(await plantedStore(stored));
    expect((await lines(await get(`${ROLLBACK}?to=1.28`))).at(-1)).toMatchObject({ report: { findings: [] } });
  });

  test.each([
    ["", "to must be a release"],
    ["?to=1.99", "1.99"],
    ["?to=1.33&runtimeConfig=nonsense", "nonsense"],
    ["?to=1.33&runtimeConfig=nope.io/v1%3Dtrue", "nope.io"],
    ["?to=1.33&featureGates=nonsense", "nonsense"],
  ])("with %j is rejected with a message", async (query, words) => {
    const response = await asking(await plantedStore({})).get(ROLLBACK + query);
    expect(response.status).toBe(400);
    expect((await response.json())["message"]).toContain(words);
  });
});

test.each([
  [VERSIONS, "POST", 405],
  [`${ROLLBACK}?to=1.33`, "DELETE", 405],
  [`${VERSIONS}/x`, "GET", 404],
  ["/evenkeel/v2/stored-versions", "GET", 404],
  ["/evenkeel/v1/status", "GET", 404],
])("%s by %s returns %i", async (target, method, status) => {
  expect((await asking(await plantedStore(CLAIM)).get(target, method)).status).toBe(status);
});
