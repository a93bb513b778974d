import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { podSecurityIn } from "./admission-config.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "admission-config-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";

function read(text: string): unknown {
  const file = join(directory, "admission.yaml");
  writeFileSync(file, text);
  return podSecurityIn(file);
}

test("the configuration of PodSecurity is in the file, or in a file beside it", () => {
  expect(read(`${HEAD}plugins: [{name: PodSecurity, configuration: {defaults: {enforce: baseline}}}]`)).toEqual({
    defaults: { enforce: "baseline" },
  });
  writeFileSync(join(directory, "pss.yaml"), "kind: PodSecurityConfiguration");
  expect(read(`${HEAD}plugins: [{name: PodSecurity, path: pss.yaml}]`)).toEqual({ kind: "PodSecurityConfiguration" });
  expect(read(HEAD)).toBeUndefined();
  expect(read(`${HEAD}plugins: [{name: EventRateLimit, path: "", configuration: null}]`)).toBeUndefined();
});

test.each([
  ["kind: AdmissionConfiguration", "it must be an AdmissionConfiguration of apiserver.config.k8s.io/v1"],
  [`${HEAD}plugins: [1]`, "plugins must be a list of objects"],
  [`${HEAD}plugins: [{name: EventRateLimit, path: a.yaml}]`, 'configuration of the plugin "EventRateLimit" is not'],
  [`${HEAD}plugins: [{name: PodSecurity, path: a}, {name: PodSecurity, path: b}]`, "configured more than once"],
  [`${HEAD}plugins: [{name: PodSecurity, path: absent.yaml}]`, "absent.yaml cannot be read: ENOENT"],
  ["a: {", "cannot be used: "],
])("%j is rejected", (text, message) => {
  expect(() => read(text)).toThrow(message);
});
