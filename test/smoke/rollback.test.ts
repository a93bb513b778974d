import { describe, expect, test } from "vitest";
import type { Json } from "./client.ts";
import { startCluster } from "./start-cluster.ts";
import { run, startEvenkeel } from "./start-evenkeel.ts";

const DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";
const GPU = { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: "gpu" }, spec: {} };

async function ended(...commandLine: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using command = run(...commandLine);
  const { code } = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

const ONE_SENTENCE = /^evenkeel: [^\n]+\n$/;

describe("stored-versions and rollback-check", () => {
  test("read the store of a running server, as text and as JSON", async () => {
    await using server = await startEvenkeel({ flags: ["--release", "1.36"] });
    const at = ["--data-dir", server.dataDir];
    const before = await ended("rollback-check", "--to", "1.34", ...at);
    expect(before).toMatchObject({ code: 0, stderr: "" });
    expect(before.stdout).toMatch(/^A server of Kubernetes 1\.34 can read and serve all \d+ objects\.\n/);
    expect((await server.request("POST", DEVICE_CLASSES, GPU)).status).toBe(201);

    const table = await ended("stored-versions", ...at);
    expect(table).toMatchObject({ code: 0, stderr: "" });
    expect(table.stdout).toMatch(/^RESOURCE +VERSION +OBJECTS +NOTE\n/);
    expect(table.stdout).toMatch(/^deviceclasses\.resource\.k8s\.io +resource\.k8s\.io\/v1 +1\n/m);
    expect(table.stdout).not.toContain("!");
    const json: Json = JSON.parse((await ended("stored-versions", "-o", "json", ...at)).stdout);
    expect(json).toMatchObject({ kind: "StoredVersions", release: "1.36", unknown: [] });

    const found = await ended("rollback-check", "--to", "1.33", ...at);
    expect(found).toMatchObject({ code: 1, stderr: "" });
    expect(found.stdout).toContain("\n  deviceclasses.resource.k8s.io gpu (resource.k8s.io/v1)\n");
    const asJson = await ended("rollback-check", "--to", "1.33", "-o", "json", ...at);
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ to: "1.33", findings: [{ names: [{ name: "gpu" }] }] });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  test("print in one sentence why they failed, with another exit code than for findings", async () => {
    await using server = await startEvenkeel();
    const at = ["--data-dir", server.dataDir];
    const cases: readonly (readonly [flags: readonly string[], says: string])[] = [
      [at, "--to"],
      [["--to", "1.99", ...at], "1.99"],
      [["--to", "1.33", "--runtime-config", "nope.io/v1=true", ...at], "nope.io"],
      [["--to", "1.33", "--server", "https://127.0.0.1:1"], "cannot be reached"],
      [["--to", "1.33", "--token", "wrong", ...at], "could not authenticate the request"],
    ];
    for (const [flags, says] of cases) {
      const result = await ended("rollback-check", ...flags);
      expect(result).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
      expect(result.stderr).toContain(says);
    }
    expect((await ended("stored-versions", "--server", "https://127.0.0.1:1")).code).toBe(1);
  });
});

describe("evenkeel upgrade to an older release", { timeout: 60_000 }, () => {
  test("is rejected with the names of the objects that the older release could not read or serve, unless it is forced", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.36,1.36"] });
    expect(await cluster.control("upgrade", "apiserver-1", "1.35")).toMatchObject({ release: "1.35" });
    expect((await cluster.balancer.request("POST", DEVICE_CLASSES, GPU)).status).toBe(201);

    const at = ["--data-dir", cluster.dataDir];
    const rejected = await ended("upgrade", "apiserver-1", "1.33", ...at);
    expect(rejected).toMatchObject({ code: 1, stdout: "" });
    expect(rejected.stderr).toMatch(
      /^evenkeel: apiserver-1 would be rolled back from 1\.35 to 1\.33, which could not read or would not serve 1 stored object/,
    );
    expect(rejected.stderr).toContain("\n  deviceclasses.resource.k8s.io gpu (resource.k8s.io/");
    expect((await cluster.servers[0]!.request("GET", "/version")).body.minor).toBe("35");

    await cluster.control("fault", "kill", "apiserver-1");
    await expect(cluster.control("upgrade", "apiserver-1", "1.33")).rejects.toThrow("would be rolled back");
    expect(await cluster.control("upgrade", "apiserver-1", "1.33", "--force")).toMatchObject({ release: "1.33" });
  });
});
