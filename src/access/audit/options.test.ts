import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { auditOptionsOf, withAuditFlags } from "../../tools/cli/audit-flags.ts";
import { resolveAudit, type AuditConfig, type AuditGiven } from "./options.ts";

const POLICY = {
  file: "p.yaml",
  value: { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] },
};

function given(...flags: string[]): AuditGiven {
  return { ...auditOptionsOf(withAuditFlags(new Command()).exitOverride().parse(flags, { from: "user" }).opts()) };
}

function resolved(...flags: string[]): AuditConfig {
  return resolveAudit({ ...given(...flags), policy: POLICY });
}

test("without flags nothing is audited", () => {
  expect(resolveAudit(given())).toEqual({ policy: undefined, log: undefined, warnings: [] });
});

test("without other flags, the defaults are those of kube-apiserver", () => {
  expect(resolved("--audit-log-path", "a.log").log).toEqual({
    file: { path: "a.log", bytesMax: 104_857_600, backupsMax: 100, ageDaysMax: 366, compress: false },
    format: "json",
    mode: "blocking",
    batch: { bufferSize: 1, sizeMax: 1, waitMaxMs: 0, throttle: undefined },
    eventBytesMax: undefined,
  });
  expect(resolved("--audit-log-path", "-", "--audit-log-mode", "batch").log?.batch).toEqual({
    ...{ bufferSize: 10_000, sizeMax: 1, waitMaxMs: 0, throttle: undefined },
  });
});

test("each flag sets its option", () => {
  const flags = [
    ...["path=a", "format=legacy", "mode=batch", "maxage=0", "maxbackup=0", "maxsize=0", "compress"],
    ...["batch-buffer-size=5", "batch-max-size=4", "batch-max-wait=3s", "batch-throttle-enable"],
    ...["batch-throttle-qps=2.5", "batch-throttle-burst=2", "truncate-enabled", "truncate-max-event-size=1000"],
  ].map((flag) => `--audit-log-${flag}`);
  expect(resolved(...flags).log).toEqual({
    file: { path: "a", bytesMax: 0, backupsMax: 0, ageDaysMax: 0, compress: true },
    format: "legacy",
    mode: "batch",
    batch: { bufferSize: 5, sizeMax: 4, waitMaxMs: 3000, throttle: { perSecond: 2.5, burst: 2 } },
    eventBytesMax: 1000,
  });
});

test.each([
  [{ policy: POLICY }, "--audit-policy-file has no effect without --audit-log-path: nothing is audited"],
  [{ logPath: "-" }, "--audit-log-path has no effect without --audit-policy-file: nothing is audited"],
  [
    { logPath: "-", policy: { ...POLICY, value: { ...POLICY.value, x: 1 } } },
    'the audit policy p.yaml contains the unknown field "x"',
  ],
])("a flag or field without effect returns a warning: %j", (more, warning) => {
  expect(resolveAudit({ ...given(), ...more }).warnings).toEqual([warning]);
});

describe("invalid flags are rejected with kube-apiserver's messages", () => {
  test.each<[change: object, message: string]>([
    [{ logMode: "x" }, 'invalid audit log mode x, allowed modes are "batch,blocking,blocking-strict"'],
    [{ logFormat: "x" }, 'invalid audit log format x, allowed formats are "legacy,json"'],
    [{ logVersion: "v1" }, 'invalid group version, allowed versions are ["audit.k8s.io/v1"]'],
    [{ logMaxAge: -1 }, "--audit-log-maxage -1 can't be a negative number"],
    [{ logMaxBackup: -1 }, "--audit-log-maxbackup -1 can't be a negative number"],
    [{ logMaxSize: -1 }, "--audit-log-maxsize -1 can't be a negative number"],
    [
      { truncate: { isEnabled: false, batchBytesMax: 1, eventBytesMax: 2 } },
      "invalid audit truncate log max batch size 1, must be greater than max event size (2)",
    ],
    [
      { logMode: "batch", batch: { ...given().batch, bufferSize: 0 } },
      "invalid audit batch log buffer size 0, must be a positive number",
    ],
    [
      { logMode: "batch", batch: { ...given().batch, isThrottled: true } },
      "invalid audit batch log throttle QPS 0, must be a positive number",
    ],
    [
      { policy: { file: "p.yaml", value: 3 } },
      "loading audit policy file: the audit policy is not an object: from file p.yaml",
    ],
  ])("%j", (change, message) => {
    expect(() => resolveAudit({ ...given("--audit-log-path=a"), ...change })).toThrow(message);
  });
});
