/** The flags of auditing, with the names and defaults of kube-apiserver. */
import { InvalidArgumentError, Option, type Command } from "commander";
import { load } from "js-yaml";
import type { AuditGiven } from "../../access/audit/options.ts";
import { booleanOption, duration } from "./flags.ts";
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

/** Far more than any audit policy needs: a user who names a larger file has named the wrong one. */
const POLICY_CHARACTERS_MAX = 4 * 1024 * 1024;

export function withAuditFlags(command: Command): Command {
  const file = command
    .option(
      "--audit-policy-file <file>",
      "audit policy: the requests to audit and their level of detail (audit.k8s.io/v1 Policy)",
    )
    .option("--audit-log-path <file>", "file for audit events; - for standard output")
    .addOption(oneOf("--audit-log-format <format>", "format of audit events", ["json", "legacy"]))
    .addOption(
      oneOf(
        "--audit-log-mode <mode>",
        "when to write events: asynchronously (batch) or before the response (blocking); blocking-strict also fails a request whose event cannot be written",
        ["blocking", "batch", "blocking-strict"],
      ),
    )
    .option("--audit-log-version <version>", "API version of audit events", "audit.k8s.io/v1")
    .option("--audit-log-maxage <days>", "maximum age of rotated log files in days; 0 keeps them forever", integer, 366)
    .option("--audit-log-maxbackup <n>", "maximum number of rotated log files; 0 keeps all", integer, 100)
    .option(
      "--audit-log-maxsize <megabytes>",
      "maximum size in megabytes before the log file is rotated; 0 never rotates it",
      integer,
      100,
    )
    .addOption(booleanOption("--audit-log-compress", "compress rotated log files"));
  return withTruncateFlags(withBatchFlags(file));
}

function withBatchFlags(command: Command): Command {
  return command
    .option(
      "--audit-log-batch-buffer-size <n>",
      "batch mode: number of events to buffer; further events are dropped",
      integer,
      10_000,
    )
    .option("--audit-log-batch-max-size <n>", "batch mode: maximum number of events in a batch", integer, 1)
    .addOption(
      new Option(
        "--audit-log-batch-max-wait <duration>",
        "batch mode: maximum time before an incomplete batch is written",
      )
        .argParser(duration)
        .default(0, "0"),
    )
    .addOption(booleanOption("--audit-log-batch-throttle-enable", "batch mode: limit the rate of batches"))
    .option(
      "--audit-log-batch-throttle-qps <n>",
      "batch mode: maximum number of batches per second, if throttled",
      decimal,
      0,
    )
    .option(
      "--audit-log-batch-throttle-burst <n>",
      "batch mode: maximum number of batches in a burst, if throttled",
      integer,
      0,
    );
}

function withTruncateFlags(command: Command): Command {
  return command
    .addOption(
      booleanOption(
        "--audit-log-truncate-enabled",
        "remove request and response objects from events that are too large",
      ),
    )
    .option(
      "--audit-log-truncate-max-batch-size <bytes>",
      "maximum size of a batch in bytes; not less than the maximum size of an event",
      integer,
      10_485_760,
    )
    .option(
      "--audit-log-truncate-max-event-size <bytes>",
      "maximum size of an event in bytes, if truncation is enabled",
      integer,
      102_400,
    );
}

/** Does not validate the values; `resolveAudit` does. */
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
  const text = readFile(file, "audit policy (--audit-policy-file)");
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
