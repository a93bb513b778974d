import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { CommandFailure } from "./failure.ts";
import { connectionOf } from "./request-server.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-ask-server-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true, force: true });
});

/** Writes the kubeconfig of a user with a client certificate, in a separate data directory. */
function dataDirectory(name: string): string {
  const path = join(directory, name);
  mkdirSync(path);
  const data = (text: string): string => Buffer.from(text).toString("base64");
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: `https://${name}`, "certificate-authority-data": data("ca") } }],
    users: [{ name: "u", user: { "client-certificate-data": data("certificate"), "client-key-data": data("key") } }],
  };
  writeFileSync(join(path, "kubeconfig"), JSON.stringify(config));
  return path;
}

describe("for a command that connects to a server,", () => {
  test("--token replaces the client certificate of the kubeconfig, which the server would evaluate first", () => {
    const dataDir = dataDirectory("near");
    const flags = { dataDir, output: "table" } as const;
    expect(connectionOf(flags)).toEqual({ url: "https://near", ca: "ca", cert: "certificate", key: "key" });
    expect(connectionOf({ ...flags, token: "secret" })).toEqual({ url: "https://near", ca: "ca", token: "secret" });
    const elsewhere = { ...flags, context: "c", server: "https://other", token: "secret" };
    expect(connectionOf(elsewhere)).toEqual({ url: "https://other", ca: "ca", token: "secret" });
    expect(connectionOf({ server: "https://other", token: "secret", output: "table" })).toEqual({
      url: "https://other",
      token: "secret",
    });
  });

  test("--token and --ca-file replace a login plugin and a cluster without verification, which are not supported", () => {
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: "https://managed", "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: { exec: { command: "login" } } }],
    };
    const [kubeconfig, caFile] = [join(directory, "managed"), join(directory, "ca.crt")];
    writeFileSync(kubeconfig, JSON.stringify(config));
    writeFileSync(caFile, "ca");
    const flags = { kubeconfig, output: "json" } as const;
    expect(connectionOf({ ...flags, token: "secret", caFile })).toEqual({
      url: "https://managed",
      ca: "ca",
      token: "secret",
    });
    expect(() => connectionOf({ ...flags, caFile })).toThrow(/logs in with an exec or auth-provider plugin/);
    expect(() => connectionOf({ ...flags, token: "secret" })).toThrow(/insecure-skip-tls-verify/);
  });

  test("--data-dir has precedence over $KUBECONFIG, and --kubeconfig over both", () => {
    const [near, far] = [dataDirectory("near"), dataDirectory("far")];
    vi.stubEnv("KUBECONFIG", join(far, "kubeconfig"));
    expect(connectionOf({ output: "table" }).url).toBe("https://far");
    expect(connectionOf({ dataDir: near, output: "table" }).url).toBe("https://near");
    expect(connectionOf({ dataDir: near, kubeconfig: join(far, "kubeconfig"), output: "table" }).url).toBe(
      "https://far",
    );
  });

  test("an invalid kubeconfig fails the command with one sentence and exit code 1", () => {
    const missing = join(directory, "missing");
    const failure = (() => {
      try {
        return connectionOf({ kubeconfig: missing, output: "table" });
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(failure).toBeInstanceOf(CommandFailure);
    expect(failure).toMatchObject({ exitCode: 1, message: expect.stringContaining(`${missing} cannot be read`) });
  });
});
