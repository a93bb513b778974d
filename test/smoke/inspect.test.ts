import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import { ETCD_MISSING, startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { disposableDirectory, run, startEvenkeel } from "./start-evenkeel.ts";

const MARKER = "value-of-a-secret-7f3a";
const ONE_SENTENCE = /^evenkeel: [^\n]+\n$/;

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function inspect(...flags: string[]): Promise<Ended> {
  await using command = run("inspect", ...flags);
  const { code } = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

const etcd = await startEtcd();
if (etcd === undefined) console.warn(ETCD_MISSING);
const directory = disposableDirectory();
afterAll(async () => {
  await etcd?.stop();
  directory[Symbol.dispose]();
});

const HPA = {
  apiVersion: "autoscaling/v1",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "old" },
  spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
};

describe.skipIf(etcd === undefined)("inspect of a cluster of evenkeel serve on etcd", () => {
  const endpoint = etcd?.endpoint ?? "";
  const live = ["--etcd-servers", endpoint];
  let ofApi: Ended;

  beforeAll(async () => {
    await using server = await startEvenkeel({ flags: ["--etcd-servers", endpoint, "--release", "1.33"] });
    const created = async (path: string, body: object): Promise<void> => {
      const { status } = await server.request("POST", path, body, { "user-agent": "old-cd-tool" });
      expect(status).toBe(201);
    };
    await created("/api/v1/namespaces/default/secrets", { metadata: { name: "login" }, stringData: { pin: MARKER } });
    await created("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", HPA);
    ofApi = await inspect("--kubeconfig", server.kubeconfig, "--to", "1.36", "-o", "json");
    await server.stop();
    const kv = await openEtcdKv({ endpoints: [endpoint], clock: realClock() });
    const value = Buffer.from("\u001b[2J neither JSON nor protobuf");
    await kv.commit({ kind: "put", key: "/registry/configmaps/default/b\u001b[31m", value, expectedRevision: 0 });
    await kv.close();
  }, 60_000);

  test("gives the same report for a live etcd and for the database of its member", async () => {
    // etcd writes its database at an interval of 100 ms.
    const json = async (...source: string[]): Promise<Record<string, unknown>> => {
      const { stdout } = await inspect(...source, "--from", "1.33", "--to", "1.36", "-o", "json");
      const report = JSON.parse(stdout) as Record<string, unknown>;
      const { source: _, warnings: __, ...read } = report["read"] as Record<string, unknown>;
      return { ...report, read };
    };
    const ofLive = await json(...live);
    expect(await json("--etcd-snapshot", etcd!.databaseFile)).toEqual(ofLive);
    expect(ofLive).toMatchObject({ kind: "Inspection", hops: ["1.34", "1.35", "1.36"] });
    expect((ofLive["read"] as { objects: number }).objects).toBeGreaterThan(200);
  });

  test("shows no value of a Secret in any format", async () => {
    const html = join(directory.path, "report.html");
    const flags = [...live, "--from", "1.33", "--to", "1.36", "--unreadable"];
    const text = await inspect(...flags, "--html", html, "--details");
    const json = await inspect(...flags, "-o", "json");
    const all = [text.stdout, text.stderr, json.stdout, json.stderr, readFileSync(html, "utf8"), ofApi.stdout];
    expect(json.stdout).toContain('"secrets"');
    for (const output of all) {
      expect(output).not.toContain(MARKER);
      expect(output).not.toContain(Buffer.from(MARKER).toString("base64"));
    }
  });

  test("lists an unreadable value with its key, without the control characters of the key", async () => {
    const { stdout, code } = await inspect(...live, "--from", "1.33", "--unreadable");
    expect(stdout).toContain("/registry/configmaps/default/b?[31m");
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(1);
  });

  test("of the API lists the missing facts, the release of the server and the client with an older version", () => {
    const report = JSON.parse(ofApi.stdout) as Record<string, unknown>;
    expect(report).toMatchObject({ from: { release: "1.33", origin: "found" }, hops: ["1.34", "1.35", "1.36"] });
    expect(report["read"]).toMatchObject({ notKnown: expect.arrayContaining(["the sizes of objects"]) as unknown });
    expect(report["clients"]).toContainEqual(
      expect.objectContaining({ manager: "old-cd-tool", apiVersion: "autoscaling/v1" }),
    );
    expect(ofApi.code).toBe(0);
  });

  test("fails with the existing prefixes if there are no keys under the prefix", async () => {
    const { code, stderr, stdout } = await inspect(...live, "--from", "1.33", "--etcd-prefix", "/wrong");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(`evenkeel: etcd ${endpoint} has no keys under /wrong: use --etcd-prefix /registry\n`);
  });

  test("has an exit code that depends on the severities of --fail-on, without the ignored findings", async () => {
    const flags = [...live, "--from", "1.33", "--to", "1.36", "-o", "json"];
    const findings = (JSON.parse((await inspect(...flags)).stdout) as { findings: { id: string }[] }).findings;
    const ids = [...new Set(findings.map(({ id }) => id))];
    expect(ids).toContain("value-unreadable");
    expect(await inspect(...flags, "--ignore", "value-unreadable")).toMatchObject({ code: 0 });
    expect(await inspect(...flags, "--ignore", "value-unreadable", "--fail-on", "info")).toMatchObject({ code: 1 });
    expect(await inspect(...flags, "--ignore", ids.join(","), "--fail-on", "info")).toMatchObject({ code: 0 });
  });
});

describe("inspect without usable data ends with exit code 2 and one sentence", () => {
  test.each([
    [["--etcd-snapshot", "/nowhere/backup.db"], "/nowhere/backup.db"],
    [["--etcd-snapshot", import.meta.filename], "inspect.test.ts"],
    [["--etcd-servers", "http://127.0.0.1:9"], "ECONNREFUSED"],
    [["--etcd-servers", "https://127.0.0.1:9", "--etcd-cafile", "/nowhere/ca.crt"], "/nowhere/ca.crt"],
    [["--kubeconfig", "/nowhere/config"], "/nowhere/config"],
    [[], "nothing to inspect"],
    [["--etcd-snapshot", "a.db", "--to", "1.99"], `is not one of ${RELEASES.join(", ")}`],
    [["--etcd-snapshot", "a.db", "--html", "/nowhere/report.html"], "/nowhere/report.html cannot be written"],
  ])("%j", async (flags, text) => {
    const { code, stderr, stdout } = await inspect(...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(ONE_SENTENCE);
    expect(stderr).toContain(text);
  });

  test("a torn snapshot", async () => {
    const file = join(directory.path, "torn.db");
    writeFileSync(file, Buffer.alloc(4096 * 2 + 100));
    const { code, stderr } = await inspect("--etcd-snapshot", file);
    expect(code).toBe(2);
    expect(stderr).toMatch(ONE_SENTENCE);
    expect(stderr).toContain(file);
  });

  test("an interrupted inspection ends with exit code 130, and leaves no page", async () => {
    const page = join(directory.path, "interrupted.html");
    await using command = run("inspect", "--etcd-servers", "http://192.0.2.1:2379", "--html", page);
    const ended = command.exited;
    const timer = setTimeout(() => command.child.kill("SIGINT"), 1_500);
    expect(await ended).toEqual({ code: 130, signal: null });
    clearTimeout(timer);
    expect(command.stderr).toBe("evenkeel: interrupted\n");
    expect(() => readFileSync(page)).toThrow(/ENOENT/);
  });
});
