import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readKubeconfigs } from "./kubeconfig.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-kubeconfig-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

const YAML = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: near
  cluster: {server: "https://127.0.0.1:1", certificate-authority: ca.crt, tls-server-name: kubernetes}
- name: far
  cluster: {server: "https://127.0.0.1:2", certificate-authority-data: ${Buffer.from("far ca").toString("base64")}}
contexts:
- {name: one, context: {cluster: near, user: token}}
- {name: two, context: {cluster: far, user: certificate}}
users:
- {name: token, user: {tokenFile: token}}
- name: certificate
  user: {client-certificate: me.crt, client-key-data: ${Buffer.from("my key").toString("base64")}}
`;

describe("a kubeconfig", () => {
  test("is read with its current context, including the files that it references", () => {
    const config = file("config", YAML);
    file("ca.crt", "near ca");
    file("token", "secret\n");
    expect(readKubeconfigs([config], undefined)).toEqual({
      url: "https://127.0.0.1:1",
      ca: "near ca",
      serverName: "kubernetes",
      token: "secret",
    });
  });

  test("is read with the context that the caller names", () => {
    const config = file("config", YAML);
    file("me.crt", "my certificate");
    expect(readKubeconfigs([config], "two")).toEqual({
      url: "https://127.0.0.1:2",
      ca: "far ca",
      cert: "my certificate",
      key: "my key",
    });
  });

  test("may be JSON; if several files set a value, the first file wins", () => {
    const first = file("first", JSON.stringify({ "current-context": "two" }));
    file("me.crt", "my certificate");
    expect(readKubeconfigs([first, file("second", YAML)], undefined).url).toBe("https://127.0.0.1:2");
  });

  test.each([
    ["is not YAML", "a: [", /is not YAML/],
    ["is not a kubeconfig", "- a\n- b\n", /is not a kubeconfig/],
    ["has no current context", "{}", /no current-context/],
    ["names an unknown context", "current-context: x", /no context "x"/],
    [
      "sets insecure-skip-tls-verify",
      `{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b"}}],"clusters":[{"name":"b","cluster":{"server":"https://x","insecure-skip-tls-verify":true}}]}`,
      /--ca-file/,
    ],
    [
      "logs in with an exec plugin",
      `{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b","user":"c"}}],"clusters":[{"name":"b","cluster":{"server":"https://x"}}],"users":[{"name":"c","user":{"exec":{"command":"x"}}}]}`,
      /--token/,
    ],
  ])("that %s is rejected with an error that names the problem", (_what, text, sentence) => {
    expect(() => readKubeconfigs([file("config", text)], undefined)).toThrow(sentence);
  });
});
