/** The flags of auditing, by kube-apiserver's names and with its defaults. */
import { InvalidArgumentError, Option, type Command } from "commander";
import { load } from "js-yaml";
import type { AuditGiven } from "../../access/audit/options.ts";
import { duration } from "./flags.ts";
import { asUsable, readFile } from "./read-file.ts";

export interface AuditFlags {
  readonly auditPolicyFile?: string;
  readonly auditLogPath?: string;
  readonly auditLogFormat: string;
  readonly auditLogMode: string;
  readonly auditLogVersion: string;
  readonly auditLogMaxage: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxsize: number;
  readonly auditLogCompress?: boolean;
  readonly auditLogBatchBufferSize: number;
  readonly auditLogBatchMaxSize: number;
  readonly auditLogBatchMaxWait: number;
  readonly auditLogBatchThrottleEnable?: boolean;
  readonly auditLogBatchThrottleQps: number;
  readonly auditLogBatchThrottleBurst: number;
  readonly auditLogTruncateEnabled?: boolean;
  readonly auditLogTruncateMaxBatchSize: number;
  readonly auditLogTruncateMaxEventSize: number;
}

/** Nobody writes so much by hand; whoever may name the file is trusted, but may name the wrong one. */
const POLICY_CHARACTERS_MAX = 4 * 1024 * 1024;

export function withAuditFlags(command: Command): Command {
  const file = command
    .option("--audit-policy-file <file>", "which requests are audited, and how much of them (audit.k8s.io/v1 Policy)")
    .option("--audit-log-path <file>", "where audit events are written; - for standard output")
    .addOption(oneOf("--audit-log-format <format>", "how an event is written", ["json", "legacy"]))
    .addOption(
      oneOf("--audit-log-mode <mode>", "whether requests wait for their events, and fail if they cannot be stored", [
        "blocking",
        "batch",
        "blocking-strict",
      ]),
    )
    .option("--audit-log-version <version>", "API version of the events", "audit.k8s.io/v1")
    .option("--audit-log-maxage <days>", "days after which old logs are removed; 0 never", integer, 366)
    .option("--audit-log-maxbackup <n>", "old logs that are kept; 0 all", integer, 100)
    .option("--audit-log-maxsize <megabytes>", "size at which a log is put aside; 0 never", integer, 100)
    .option("--audit-log-compress", "compress logs that were put aside");
  return withTruncateFlags(withBatchFlags(file));
}

function withBatchFlags(command: Command): Command {
  return command
    .option("--audit-log-batch-buffer-size <n>", "batch mode: events that may wait; others are lost", integer, 10_000)
    .option("--audit-log-batch-max-size <n>", "batch mode: events that are written at once", integer, 1)
    .addOption(
      new Option("--audit-log-batch-max-wait <duration>", "batch mode: how long a batch is waited for")
        .argParser(duration)
        .default(0, "0"),
    )
    .option("--audit-log-batch-throttle-enable", "batch mode: limit the batches per second")
    .option("--audit-log-batch-throttle-qps <n>", "batch mode: batches per second, if limited", decimal, 0)
    .option("--audit-log-batch-throttle-burst <n>", "batch mode: batches at once after a pause", integer, 0);
}

function withTruncateFlags(command: Command): Command {
  return command
    .option("--audit-log-truncate-enabled", "leave the objects out of events that are too large")
    .option("--audit-log-truncate-max-batch-size <bytes>", "at least as much as an event may have", integer, 10_485_760)
    .option("--audit-log-truncate-max-event-size <bytes>", "how large an event may be, if limited", integer, 102_400);
}

/** For `resolveAudit`, which says what is wrong with the values. */
export function auditOptionsOf(flags: AuditFlags): AuditGiven {
  const { auditPolicyFile: file, auditLogPath: logPath } = flags;
  return {
    ...(file === undefined ? {} : { policy: { value: policyIn(file), file } }),
    ...(logPath === undefined ? {} : { logPath }),
    logFormat: flags.auditLogFormat,
    logMode: flags.auditLogMode,
    logVersion: flags.auditLogVersion,
    logMaxAge: flags.auditLogMaxage,
    logMaxBackup: flags.auditLogMaxbackup,
    logMaxSize: flags.auditLogMaxsize,
    logCompress: flags.auditLogCompress ?? false,
    batch: {
      bufferSize: flags.auditLogBatchBufferSize,
      sizeMax: flags.auditLogBatchMaxSize,
      waitMaxMs: flags.auditLogBatchMaxWait,
      isThrottled: flags.auditLogBatchThrottleEnable ?? false,
      throttlePerSecond: flags.auditLogBatchThrottleQps,
      throttleBurst: flags.auditLogBatchThrottleBurst,
    },
    truncate: {
      isEnabled: flags.auditLogTruncateEnabled ?? false,
      batchBytesMax: flags.auditLogTruncateMaxBatchSize,
      eventBytesMax: flags.auditLogTruncateMaxEventSize,
    },
  };
}

function policyIn(file: string): unknown {
  const text = readFile(file, "audit policy");
  return asUsable(() => {
    if (text.length > POLICY_CHARACTERS_MAX) throw new Error("it is larger than 4 MB");
    return load(text);
  }, `the audit policy ${file} cannot be used`);
}

function oneOf(flag: string, description: string, choices: readonly string[]): Option {
  return new Option(flag, description).choices(choices).default(choices[0]);
}

function integer(text: string): number {
  if (!/^-?[0-9]{1,12}$/.test(text)) throw new InvalidArgumentError(`${JSON.stringify(text)} is not a whole number.`);
  return Number(text);
}

function decimal(text: string): number {
  if (!/^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(text))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number such as 2.5.`);
  return Number(text);
}
