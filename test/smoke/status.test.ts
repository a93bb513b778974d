import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { disposableDirectory, run, startEvenkeel, TOKEN } from "./start-evenkeel.ts";

async function ended(...commandLine: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using command = run(...commandLine);
  const { code } = await command.exited;
  return { code, stdout: command.stdout, stderr: command.stderr };
}

const ONE_SENTENCE = /^evenkeel: [^\n]+\n$/;

describe("status and explain-route", () => {
  test("show the state of a running server, as a table and as JSON", async () => {
    await using server = await startEvenkeel({ flags: ["--server-id", "one", "--release", "1.36"] });
    const at = ["--data-dir", server.dataDir];
    const table = await ended("status", ...at);
    expect(table).toMatchObject({ code: 0, stderr: "" });
    expect(table.stdout).toMatch(
      /^SERVER .*\none \(local\) +1\.36 +1\.36\.\d+ +127\.0\.0\.1:\d+ +reachable +- +everything\n/,
    );
    const json = await ended("status", "-o", "json", "--kubeconfig", server.kubeconfig);
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: "ClusterStatus", server: "one" });

    const text = await ended("explain-route", "get", "/apis/batch/v1/namespaces/default/jobs", ...at);
    expect(text.stdout).toContain("parsed as:    list jobs of batch/v1 in namespace default\n");
    expect(text.stdout).toContain("rule:         served-here\n");
    const given = ["--server", server.url, "--token", TOKEN, "--ca-file", join(server.dataDir, "ca.crt"), "-o", "json"];
    const route = await ended("explain-route", "get", "/version", ...given);
    expect(JSON.parse(route.stdout)).toMatchObject({ route: { kind: "local", rule: "not-a-resource-request" } });

    const rejected = await ended("explain-route", "dance", "/api/v1/pods", ...at);
    expect(rejected).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("dance") });
    expect(await server.stop()).toEqual({ code: 0, signal: null });
  });

  test("print one sentence about a problem with the server, the certificate or the user", async () => {
    await using server = await startEvenkeel();
    const cases = [
      { flags: ["--server", server.url], says: "--ca-file" },
      { flags: ["--data-dir", server.dataDir, "--token", "wrong"], says: "could not authenticate the request" },
      { flags: ["--data-dir", server.dataDir, "--context", "nowhere"], says: '"nowhere"' },
      { flags: ["--kubeconfig", join(server.dataDir, "missing")], says: "missing" },
      { flags: ["--server", "https://127.0.0.1:1"], says: "cannot be reached" },
      { flags: ["--server", "nonsense"], says: "nonsense", code: 2 },
    ];
    for (const { flags, says, code = 1 } of cases) {
      const result = await ended("status", ...flags);
      expect(result).toEqual({ code, stdout: "", stderr: expect.stringMatching(ONE_SENTENCE) });
      expect(result.stderr).toContain(says);
    }
    const path = await ended("explain-route", "get", "api/v1/pods", "--data-dir", server.dataDir);
    expect(path).toMatchObject({ code: 2, stderr: expect.stringContaining("slash") });
  });

  test("report that a server is not Evenkeel", async () => {
    const other = createServer((_request, response) => void response.writeHead(404).end("404 page not found\n"));
    await once(other.listen(0, "127.0.0.1"), "listening");
    try {
      const result = await ended("status", "--server", `http://127.0.0.1:${(other.address() as AddressInfo).port}`);
      expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("is not an Evenkeel server") });
    } finally {
      other.close();
    }
  });
});

test("certs keeps existing files, and its keys are readable only by their owner", async () => {
  using directory = disposableDirectory();
  const first = await ended("certs", "--out", directory.path);
  expect(first.stdout.match(/^created /gm)).toHaveLength(5);
  for (const file of readdirSync(directory.path).filter((name) => name.endsWith(".key")))
    expect(statSync(join(directory.path, file)).mode & 0o077).toBe(0);
  const again = await ended("certs", "--out", directory.path, "--name", "second", "--hosts", "192.0.2.1");
  expect(again.stdout.match(/^kept /gm)).toHaveLength(4);
  expect(again.stdout).toMatch(/^created .*second\.crt$/m);
});
