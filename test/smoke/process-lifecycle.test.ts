import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, readlinkSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { Agent } from "node:https";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { NODE } from "./built.ts";
import { ask, configMap, CONFIG_MAPS, Watch } from "./client.ts";
import { disposableDirectory, run, startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

describe("a server that starts", () => {
  test("prints its address, the path of the kubeconfig, the location of the data, and that it is ready", async () => {
    await using server = await startEvenkeel({ flags: ["--release", "1.35"] });
    expect(server.stdout).toBe(
      [
        `Serving Kubernetes 1.35 at https://127.0.0.1:${server.port}`,
        `  kubectl:  export KUBECONFIG=${server.dataDir}/kubeconfig`,
        `  objects:  in ${server.dataDir}`,
        "Ready.",
        "",
      ].join("\n"),
    );
    expect(server.stderr).toBe("");
    expect((await server.request("GET", "/readyz")).text).toBe("ok");
  });

  test.runIf(process.platform === "linux")("is one process: its PID is that of Node.js", async () => {
    await using server = await startEvenkeel();
    expect(readlinkSync(`/proc/${server.pid}/exe`)).toBe(realpathSync(NODE));
    expect(readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8")).toBe("");
  });

  test("creates files that other users cannot read, even in a directory that they can read", async () => {
    using directory = disposableDirectory();
    const dataDir = join(directory.path, "readable");
    mkdirSync(dataDir, { mode: 0o755 });
    await using server = await startEvenkeel({ dataDir });
    await server.request("POST", CONFIG_MAPS, configMap("a"));
    const modes = readdirSync(dataDir).map((name) => [name, (statSync(join(dataDir, name)).mode & 0o777).toString(8)]);
    expect(Object.fromEntries(modes)).toMatchObject({
      kubeconfig: "600",
      "serving.key": "600",
      "evenkeel.db": "600",
      "evenkeel.db-wal": "600",
    });
    expect(modes.filter(([, mode]) => mode !== "600")).toEqual([]);
  });

  test("writes the token of the first user in the token file to the kubeconfig, also after comments and with quotes", async () => {
    using directory = disposableDirectory();
    const tokenFile = join(directory.path, "tokens.csv");
    writeFileSync(tokenFile, '# people\n\n"quoted-token",jane,1,"system:masters"\nother,joe,2\n');
    await using server = await startEvenkeel({ dataDir: directory.path, flags: ["--token-auth-file", tokenFile] });
    const { token } = JSON.parse(readFileSync(server.kubeconfig, "utf8")).users[0].user;
    expect(token).toBe("quoted-token");
    expect((await ask({ ...server, token }, { method: "GET", path: "/api/v1/namespaces/default" })).status).toBe(200);
    expect(
      (await ask({ ...server, token: "wrong" }, { method: "GET", path: "/api/v1/namespaces/default" })).status,
    ).toBe(401);
  });
});

describe("a server that is stopped", () => {
  test.each(["SIGINT", "SIGTERM"] as const)(
    "by %s exits with 0, with or without idle connections, and ends watches with a complete body on both protocols",
    async (signal) => {
      await using server = await startEvenkeel({ flags: ["--controllers="] });
      await server.request("GET", "/readyz");
      const idle = connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca });
      await once(idle, "secureConnect");
      const idleClosed = once(idle.resume(), "close");
      const watch = new Watch(server, `${CONFIG_MAPS}?watch=true`);
      expect(await watch.opened).toBe(200);
      const http2 = await openHttp2Watch(server);
      await server.request("POST", CONFIG_MAPS, configMap("seen"));
      await watch.until((events) => events.length === 1);
      server.command.child.kill(signal);
      expect(await server.command.exited).toEqual({ code: 0, signal: null });
      expect(await watch.ended).toBe("complete");
      expect(await http2.ended).toEqual({ code: 0, isAborted: false, isEnded: true });
      expect(http2.text()).toContain('"seen"');
      await idleClosed;
      expect(server.stderr).toBe("");
    },
  );

  test("by a second signal does not wait for open requests, and exits with 1", async () => {
    await using server = await startEvenkeel();
    const unfinished = connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca });
    unfinished.on("error", () => {});
    await once(unfinished, "secureConnect");
    unfinished.write(
      `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${server.token}\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
    );
    // The server has requested the body, so the request stays open.
    await once(unfinished, "data");
    server.command.child.kill("SIGTERM");
    await server.command.printed(/^Stopping\.$/m);
    server.command.child.kill("SIGTERM");
    expect(await server.command.exited).toEqual({ code: 1, signal: null });
    unfinished.destroy();
  });

  test("while it waits for etcd, live but not ready, exits with 0", { timeout: 20_000 }, async () => {
    using directory = disposableDirectory();
    await using command = run(
      "serve",
      "--secure-port",
      "0",
      "--data-dir",
      directory.path,
      "--etcd-servers",
      "http://127.0.0.1:1",
    );
    const [, url] = await command.printed(/ at (https:\S+)/);
    await command.printed(/objects: .*\n/);
    const kubeconfig = JSON.parse(readFileSync(join(directory.path, "kubeconfig"), "utf8"));
    const target = {
      url: url!,
      port: 0,
      ca: readFileSync(join(directory.path, "ca.crt"), "utf8"),
      token: kubeconfig.users[0].user.token,
      agent: new Agent(),
    };
    const health = await Promise.all(["/livez", "/readyz"].map((path) => ask(target, { method: "GET", path })));
    expect(health.map(({ status }) => status)).toEqual([200, 500]);
    command.child.kill("SIGTERM");
    expect(await command.exited).toEqual({ code: 0, signal: null });
    expect(command.stdout).not.toContain("Ready.");
  });
});

describe("a server that restarts", () => {
  test("keeps its objects and certificates, and rewrites none of the objects that it creates itself", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    await using first = await startEvenkeel({ dataDir });
    // The port stays the same; on another one the server would have to update the endpoints of its Service.
    const flags = ["--secure-port", String(first.port)];
    const created = await first.request("POST", CONFIG_MAPS, configMap("kept"));
    const before = await stateOf(first);
    expect(await first.stop()).toEqual({ code: 0, signal: null });
    for (let round = 0; round < 2; round++) {
      await using again = await startEvenkeel({ dataDir, flags });
      expect(await stateOf(again)).toEqual(before);
      expect((await again.request("GET", `${CONFIG_MAPS}/kept`)).body).toEqual(created.body);
      expect(await again.stop()).toEqual({ code: 0, signal: null });
    }
  });

  test("keeps the generated token", async () => {
    using directory = disposableDirectory();
    const tokens: string[] = [];
    for (let round = 0; round < 2; round++) {
      await using command = run("serve", "--secure-port", "0", "--data-dir", directory.path);
      await command.printed(/^Ready\.$/m);
      tokens.push(JSON.parse(readFileSync(join(directory.path, "kubeconfig"), "utf8")).users[0].user.token);
      expect((statSync(join(directory.path, "tokens.csv")).mode & 0o777).toString(8)).toBe("600");
    }
    expect(tokens[0]).toMatch(/^\S{32,}$/);
    expect(tokens[1]).toBe(tokens[0]);
  });
});

/**
 * Lists of objects that a server creates itself. The identity lease is not among them, because the server renews it.
 */
const OWNED_LISTS: readonly string[] = [
  "/api/v1/namespaces",
  "/api/v1/services",
  "/api/v1/endpoints",
  "/apis/discovery.k8s.io/v1/endpointslices",
  "/apis/scheduling.k8s.io/v1/priorityclasses",
  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
  "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
  "/apis/networking.k8s.io/v1/servicecidrs",
  "/apis/networking.k8s.io/v1/ipaddresses",
];

async function stateOf(server: Evenkeel): Promise<{ objects: unknown[]; ca: string; cert: string; key: string }> {
  const lists = await Promise.all(OWNED_LISTS.map((path) => server.request("GET", path)));
  const file = (name: string): string => readFileSync(join(server.dataDir, name), "utf8");
  return {
    objects: lists.map(({ body }) => body.items),
    ca: server.ca,
    cert: file("serving.crt"),
    key: file("serving.key"),
  };
}

interface Http2Watch {
  readonly ended: Promise<{ code: number; isAborted: boolean; isEnded: boolean }>;
  text(): string;
}

async function openHttp2Watch(server: Evenkeel): Promise<Http2Watch> {
  const session = connectHttp2(server.url, { ca: server.ca });
  session.on("error", () => {});
  const stream = session.request({ ":path": `${CONFIG_MAPS}?watch=true`, authorization: `Bearer ${server.token}` });
  let text = "";
  let isEnded = false;
  stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  stream.on("error", () => {});
  stream.on("end", () => (isEnded = true));
  const ended = once(stream, "close").then(() => ({ code: stream.rstCode ?? 0, isAborted: stream.aborted, isEnded }));
  await once(stream, "response");
  return { ended, text: () => text };
}
