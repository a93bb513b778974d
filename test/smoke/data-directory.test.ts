/**
 * Tests that only one process uses a data directory, and that a command changes nothing in a directory that it may not
 * use.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { ask, CONFIG_MAPS, configMap } from "./client.ts";
import { startCluster } from "./start-cluster.ts";
import { disposableDirectory, run, startEvenkeel, type Command, type Exit } from "./start-evenkeel.ts";

type Holder = "serve" | "up";

/**
 * A `serve` that would replace the certificate of an `up` if it used its directory, because no certificate of `up`
 * contains this address.
 */
const SERVE = ["serve", "--secure-port", "0", "--advertise-address", "192.0.2.1"];
const UP = ["up", "--port", "0", "--servers", "1.36"];
const COMMANDS: Readonly<Record<Holder, readonly string[]>> = { serve: SERVE, up: UP };
const NO_ETCD = ["--etcd-servers", "http://127.0.0.1:1"];
/** Matches an error that is exactly one line, without a stack trace. */
const ONE_SENTENCE = /^evenkeel: [^\n]+\n$/;

interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

async function endOf(command: Command): Promise<Ended> {
  const exit = await command.exited;
  return { ...exit, stdout: command.stdout, stderr: command.stderr };
}

async function ended(...commandLine: string[]): Promise<Ended> {
  await using command = run(...commandLine);
  return await endOf(command);
}

function inUseMessage(directory: string, holder: Holder, pid: number): string {
  return `evenkeel: The directory ${directory} is in use by evenkeel ${holder}, process ${pid}: stop that server or choose another directory.\n`;
}

/** Stops all threads of the process: one that is in a system call writes until the call returns. */
async function pause({ child, pid }: Command): Promise<void> {
  child.kill("SIGSTOP");
  if (process.platform !== "linux") return;
  const tasks = `/proc/${pid}/task`;
  const isStopped = (task: string): boolean => /\) [Tt] /.test(readFileSync(join(tasks, task, "stat"), "utf8"));
  while (!readdirSync(tasks).every(isStopped)) await delay(5);
}

/**
 * The state of all files of the directory, and of the directory itself, whose modification time shows temporary files.
 */
function stateOf(directory: string): Record<string, string> {
  const paths = ["", ...readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()];
  return Object.fromEntries(
    paths.map((path) => {
      const file = join(directory, path);
      const about = statSync(file);
      const hash = about.isFile() ? createHash("sha256").update(readFileSync(file)).digest("hex") : "";
      return [path, `${about.mode} ${about.ino} ${about.mtimeMs} ${about.size} ${hash}`];
    }),
  );
}

interface Holding extends AsyncDisposable {
  readonly command: Command;
  readonly dataDir: string;
  isServing(): Promise<void>;
}

async function hold(holder: Holder): Promise<Holding> {
  if (holder === "serve") {
    const server = await startEvenkeel();
    return {
      command: server.command,
      dataDir: server.dataDir,
      async isServing() {
        expect((await server.request("GET", "/readyz")).status).toBe(200);
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }
  const cluster = await startCluster({ flags: ["--servers", "1.33,1.36"] });
  return {
    command: cluster.command,
    dataDir: cluster.dataDir,
    async isServing() {
      // Only the newer server serves this resource, so the older one proxies the request with the certificates in the
      // directory.
      const classes = "/apis/resource.k8s.io/v1/deviceclasses";
      // It returns 503 while the newer one has missed its probes on a busy machine.
      let status = 503;
      while (status === 503) ({ status } = await cluster.servers[0]!.request("GET", classes));
      expect(status).toBe(200);
      await expect(cluster.control("fault", "pause", "nobody")).rejects.toThrow('no server "nobody"');
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

describe("a database that is replaced by a backup", { timeout: 60_000 }, () => {
  test("under a running server makes it unready with the reason; restored while the server is stopped, it is served", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    const [database, backup] = [join(dataDir, "evenkeel.db"), join(dataDir, "backup.db")];
    {
      await using server = await startEvenkeel({ dataDir });
      await server.request("POST", CONFIG_MAPS, configMap("kept"));
      await server.stop();
    }
    copyFileSync(database, backup);
    {
      await using server = await startEvenkeel({ dataDir });
      await server.request("POST", CONFIG_MAPS, configMap("lost"));
      copyFileSync(backup, database);
      while ((await server.request("GET", "/readyz")).status === 200) await delay(50);
      const reason = "evenkeel.db in .* was replaced or changed while this server used it";
      expect((await server.request("GET", "/readyz/etcd-readiness")).text).toMatch(new RegExp(reason));
      expect((await server.request("GET", CONFIG_MAPS)).status).toBe(503);
      expect((await server.request("POST", CONFIG_MAPS, configMap("c"))).status).toBeGreaterThanOrEqual(503);
      expect((await server.request("GET", "/livez")).status).toBe(200);
      expect(server.stderr).toMatch(new RegExp(reason));
      await server.stop();
    }
    expect(readFileSync(database).equals(readFileSync(backup))).toBe(true);
    const refused = await ended("serve", "--secure-port", "0", "--data-dir", dataDir);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(ONE_SENTENCE);
    expect(refused.stderr).toContain("If you have restored a backup, remove this file");
    rmSync(join(dataDir, "evenkeel.db-wal.replaced"));
    await using server = await startEvenkeel({ dataDir });
    expect((await server.request("GET", `${CONFIG_MAPS}/kept`)).status).toBe(200);
    expect((await server.request("GET", `${CONFIG_MAPS}/lost`)).status).toBe(404);
  });
});

describe("a data directory in use", { timeout: 60_000 }, () => {
  const pairs: readonly (readonly [holder: Holder, refused: Holder])[] = [
    ["up", "serve"],
    ["serve", "up"],
    ["serve", "serve"],
    ["up", "up"],
  ];
  test.each(pairs)("by %s is rejected by %s with one sentence, and does not change", async (holder, rejected) => {
    await using holding = await hold(holder);
    const { dataDir, command } = holding;
    // A paused process keeps its locks and writes nothing, so any change from now on is made by the other process.
    await pause(command);
    const before = stateOf(dataDir);
    const second = await ended(...COMMANDS[rejected], "--data-dir", dataDir);
    const after = stateOf(dataDir);
    command.child.kill("SIGCONT");
    expect(second).toEqual({ code: 1, signal: null, stdout: "", stderr: inUseMessage(dataDir, holder, command.pid) });
    expect(after).toEqual(before);
    await holding.isServing();
  });

  test("by an up on etcd is rejected by serve and by another up, and does not change", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    await using first = run(...UP, ...NO_ETCD, "--data-dir", dataDir);
    while (!existsSync(join(dataDir, "control.sock"))) await delay(20);
    await pause(first);
    const before = stateOf(dataDir);
    for (const commandLine of [SERVE, UP, [...UP, ...NO_ETCD]]) {
      const second = await ended(...commandLine, "--data-dir", dataDir);
      expect(second).toMatchObject({ code: 1, stdout: "", stderr: inUseMessage(dataDir, "up", first.pid) });
    }
    expect(stateOf(dataDir)).toEqual(before);
  });

  test.each([
    ["serve", "serve"],
    ["up", "up"],
    ["serve", "up"],
  ] as const)(
    "by one of %s and %s that start at the same time is rejected by the other, and the first one serves",
    async (...both) => {
      using directory = disposableDirectory();
      const dataDir = directory.path;
      await using a = run(...COMMANDS[both[0]], "--data-dir", dataDir);
      await using b = run(...COMMANDS[both[1]], "--data-dir", dataDir);
      const loser = await Promise.race([a, b].map((command) => command.exited.then(() => command)));
      const winner = loser === a ? b : a;
      const rejected = await endOf(loser);
      expect(rejected).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
      // A process that has just acquired the lock may not have written its name yet.
      expect(rejected.stderr).toMatch(/ is in use by (evenkeel (serve|up), process \d+|another server): /);
      await winner.printed(/^(Ready\.$|Load balancer: )/m);
      await using command = run("status", "--data-dir", dataDir);
      expect((await command.exited).code).toBe(0);
    },
  );
});

describe("a data directory that an earlier version of up wrote", { timeout: 60_000 }, () => {
  /** Earlier versions kept the certificates in the data directory itself. */
  function moveCertificates(dataDir: string): void {
    const folder = join(dataDir, "up");
    for (const name of readdirSync(folder)) renameSync(join(folder, name), join(dataDir, name));
    rmdirSync(folder);
  }

  test("keeps its certificates, even after a serve has used it, so that copies of its kubeconfig stay valid", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    const first = await startCluster({ dataDir, flags: ["--servers", "1.36"] });
    await first.balancer.request("POST", CONFIG_MAPS, configMap("kept"));
    const kubeconfig = readFileSync(join(dataDir, "kubeconfig"), "utf8");
    await first.stop();
    await first[Symbol.asyncDispose]();
    moveCertificates(dataDir);
    const ca = readFileSync(join(dataDir, "ca.crt"), "utf8");
    await using server = run(...SERVE, "--data-dir", dataDir);
    await server.printed(/^Ready\.$/m);
    expect(readFileSync(join(dataDir, "ca.crt"), "utf8")).not.toBe(ca);
    server.child.kill("SIGTERM");
    expect((await server.exited).code).toBe(0);
    await using second = await startCluster({ dataDir });
    expect(readFileSync(second.printed.caFile, "utf8")).toBe(ca);
    expect(readFileSync(join(dataDir, "kubeconfig"), "utf8")).toBe(kubeconfig);
    const agent = new Agent();
    const target = { ...first.balancer, ca, agent };
    expect((await ask(target, { method: "GET", path: `${CONFIG_MAPS}/kept` })).status).toBe(200);
    agent.destroy();
  });
});

describe(
  "a data directory that cannot be used fails a command with one sentence and exit code 1 (rollback-check: 2)",
  { timeout: 60_000 },
  () => {
    const WRITERS: readonly (readonly string[])[] = [SERVE, [...SERVE, ...NO_ETCD], UP, [...UP, ...NO_ETCD]];
    const READERS: readonly (readonly string[])[] = [
      ["status"],
      ["explain-route", "get", "/api/v1/pods"],
      ["stored-versions"],
      ["purge-namespace", "demo"],
      ["add-server", "1.36"],
      ["remove-server", "apiserver-1"],
      ["upgrade", "apiserver-1", "1.36"],
      ["fault", "kill", "apiserver-1"],
    ];

    /** This command exits with 1 if it has findings, and with 2 if the check failed. */
    const ROLLBACK_CHECK = ["rollback-check", "--to", "1.33"];

    async function expectFailures(path: string, commandLines: readonly (readonly string[])[], code = 1): Promise<void> {
      for (const commandLine of commandLines) {
        const rejected = await ended(...commandLine, "--data-dir", path);
        expect(rejected, commandLine.join(" ")).toMatchObject({ code, signal: null, stdout: "" });
        expect(rejected.stderr, commandLine.join(" ")).toMatch(ONE_SENTENCE);
        expect(rejected.stderr, commandLine.join(" ")).toContain(path);
        expect(rejected.stderr, commandLine.join(" ")).not.toContain("unexpected");
      }
    }

    test.runIf(process.platform === "linux")("if its path cannot be created", async () => {
      await expectFailures("/proc/foo", [...WRITERS, ...READERS]);
      await expectFailures("/proc/foo", [ROLLBACK_CHECK], 2);
      expect(await ended("certs", "--out", "/proc/foo")).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(ONE_SENTENCE),
      });
      expect(await ended(...SERVE, "--data-dir", "/proc")).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(ONE_SENTENCE),
      });
    });

    test("if its path is below a regular file", async () => {
      using directory = disposableDirectory();
      const file = join(directory.path, "file");
      writeFileSync(file, "");
      await expectFailures(join(file, "below"), [...WRITERS, ...READERS]);
      await expectFailures(join(file, "below"), [ROLLBACK_CHECK], 2);
      await expectFailures(file, WRITERS);
    });

    const isRoot = process.getuid?.() === 0;
    test.skipIf(isRoot)(`if it is not writable${isRoot ? " (skipped: root may write everywhere)" : ""}`, async () => {
      using directory = disposableDirectory();
      const path = join(directory.path, "readonly");
      mkdirSync(path);
      chmodSync(path, 0o500);
      await expectFailures(path, WRITERS);
      await expectFailures(join(path, "below"), WRITERS);
      expect(readdirSync(path)).toEqual([]);
    });
  },
);
