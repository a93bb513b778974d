import { describe, expect, test } from "vitest";
import type { Log } from "../../src/base/log.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { FaultyKv } from "./faulty-kv.ts";
import { CONFIG_MAPS, configMap, header, startServer } from "./start.ts";

describe("the health endpoint", () => {
  test.each([
    "/healthz",
    "/livez",
    "/readyz",
    "/healthz/ping",
    "/readyz/ping",
    "/livez/ping?verbose",
    "/healthz/log",
    "/readyz/poststarthook/start-system-namespaces-controller",
  ])("%s returns ok", async (target) => {
    await using api = await startServer();
    const response = await api.get(target);
    expect(response.status).toBe(200);
    expect(response.text).toBe("ok");
    expect(header(response, "content-type")).toContain("text/plain");
  });

  test.each(["healthz", "livez", "readyz"])("/%s?verbose lists the checks and the overall result", async (endpoint) => {
    await using api = await startServer();
    const { text } = await api.get(`/${endpoint}?verbose`);
    expect(text).toContain("[+]ping ok\n");
    expect(text.endsWith(`${endpoint} check passed\n`)).toBe(true);
  });

  test("can exclude a check by name, and warns about unknown names", async () => {
    await using api = await startServer();
    const { status, text } = await api.get("/readyz?verbose&exclude=etcd&exclude=nosuch");
    expect(status).toBe(200);
    expect(text).toContain("[+]etcd excluded: ok\n");
    expect(text).toContain('warn: some health checks cannot be excluded: no matches for "nosuch"');
  });

  test("/readyz fails during shutdown, while the server is live and serves requests", async () => {
    await using api = await startServer();
    await api.world.run(api.server.beginShutdown());
    const ready = await api.get("/readyz");
    expect(ready.status).toBe(500);
    expect(ready.text).toContain("[-]shutdown failed: reason withheld");
    expect(ready.text).toContain("readyz check failed");
    expect((await api.get("/livez")).status).toBe(200);
    expect((await api.get("/readyz?exclude=shutdown")).status).toBe(200);
    expect((await api.get("/readyz/shutdown")).status).toBe(500);
    expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  });

  test("returns 404 for a check that only another endpoint has", async () => {
    await using api = await startServer();
    expect((await api.get("/livez/shutdown")).status).toBe(404);
    expect((await api.get("/livez/etcd")).status).toBe(404);
  });
});

test("a failed check is logged as a warning, but not while the server starts or shuts down", async () => {
  const world = new World({ seed: 1 });
  const logged: string[] = [];
  const say =
    (level: string) =>
    (message: string): void =>
      void (message === "health check failed" && logged.push(level));
  const log: Log = { debug: say("debug"), info: say("info"), warn: say("warn"), error: say("error") };
  const kvs: FaultyKv[] = [];
  const wrapKv = (kv: Kv): Kv => {
    const faulty = new FaultyKv(kv);
    kvs.push(faulty);
    return faulty;
  };
  await using api = await startServer({ world, log, wrapKv, skipReady: true });
  expect((await api.begin("GET", "/readyz")).status).toBe(500);
  await world.run(api.server.ready);
  kvs.forEach((kv) => kv.setDown(true));
  expect((await api.get("/readyz")).status).toBe(500);
  kvs.forEach((kv) => kv.setDown(false));
  await api.world.run(api.server.beginShutdown());
  expect((await api.get("/readyz")).status).toBe(500);
  expect(logged).toEqual(["info", "warn", "info"]);
});

describe("the metrics", () => {
  test("count requests by verb, resource and code", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("x"));
    await api.create(CONFIG_MAPS, configMap("x"));
    const series = (verb: string, code: string): string =>
      `apiserver_request_total{verb="${verb}",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="namespace",component="apiserver",code="${code}"}`;
    expect(await api.metric(series("POST", "201"))).toBe(1);
    expect(await api.metric(series("POST", "409"))).toBe(1);
  });

  test("do not contain the names of unknown resources", async () => {
    await using api = await startServer();
    await api.get("/api/v1/namespaces/default/made-up-by-the-client");
    expect((await api.get("/metrics")).text).not.toContain("made-up-by-the-client");
  });

  test("are Prometheus text, and each metric family has HELP and TYPE", async () => {
    await using api = await startServer();
    const { text, headers } = await api.get("/metrics");
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    for (const line of text.trimEnd().split("\n"))
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{.*\})? [-+0-9.eInfNa]+)$/);
    expect(text).toContain("# TYPE apiserver_request_total counter");
    expect(text).toContain("# TYPE apiserver_request_duration_seconds histogram");
  });

  test("include the health checks at /metrics/slis", async () => {
    await using api = await startServer();
    await api.world.advance(10_000);
    const { text } = await api.get("/metrics/slis");
    for (const endpoint of ["healthz", "livez", "readyz"]) {
      expect(text).toContain(`kubernetes_healthcheck{name="ping",type="${endpoint}"} 1`);
      expect(text).toMatch(
        new RegExp(`kubernetes_healthchecks_total\\{name="log",type="${endpoint}",status="success"\\} [1-9]`),
      );
    }
    expect(text).toMatch(/kubernetes_healthchecks_total\{name="etcd",type="readyz",status="success"\} [0-9]+/);
  });
});
