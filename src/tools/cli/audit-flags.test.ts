import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, test } from "vitest";
import { auditOptionsOf, withAuditFlags } from "./audit-flags.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "audit-flags-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function policyOf(text: string | undefined): unknown {
  const file = join(directory, "policy.yaml");
  if (text !== undefined) writeFileSync(file, text);
  const command = withAuditFlags(new Command()).exitOverride();
  return auditOptionsOf(command.parse(["--audit-policy-file", file], { from: "user" }).opts()).policy?.value;
}

test("the audit policy is parsed as YAML", () => {
  expect(policyOf("kind: Policy\nrules: [{level: None}]\n")).toEqual({ kind: "Policy", rules: [{ level: "None" }] });
});

test.each([
  ["that does not exist", undefined, /the audit policy .*policy\.yaml cannot be read: ENOENT/],
  ["that is not YAML", "a: {", /the audit policy .*policy\.yaml cannot be used: /],
  ["that is too large", "#".repeat(5 * 1024 * 1024), /cannot be used: it is larger than 4 MB/],
])("an audit policy %s fails the command with an error", (_, text, message) => {
  expect(() => policyOf(text)).toThrow(message);
});

test.each([
  [["--audit-log-maxsize", "many"], /"many" is not a whole number/],
  [["--audit-log-batch-throttle-qps", "-1"], /is not a number such as 2\.5/],
  [["--audit-log-mode", "sometimes"], /Allowed choices are blocking, batch, blocking-strict/],
])("%j is rejected", (flags, message) => {
  const command = withAuditFlags(new Command())
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  expect(() => command.parse(flags, { from: "user" })).toThrow(message);
});
