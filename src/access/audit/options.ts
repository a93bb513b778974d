/** Validates the --audit-* flags, which set the audit policy and the audit log. */
import type { Retention } from "./backup-files.ts";
import type { BatchOptions } from "./batches.ts";
import type { LogOptions } from "./log-backend.ts";
import { parsePolicy } from "./parse-policy.ts";
import type { AuditPolicy } from "./policy.ts";

/** The values of the flags, with their defaults. */
export interface AuditGiven {
  /** The parsed policy and the name of its file. */
  readonly policy?: { readonly value: unknown; readonly file: string };
  /** The path of the audit log: absent for no log, "-" for standard output. */
  readonly logPath?: string;
  readonly logFormat: string;
  readonly logMode: string;
  readonly logVersion: string;
  readonly logMaxAge: number;
  readonly logMaxBackup: number;
  readonly logMaxSize: number;
  readonly logCompress: boolean;
  readonly batch: {
    readonly bufferSize: number;
    readonly sizeMax: number;
    readonly waitMaxMs: number;
    readonly isThrottled: boolean;
    readonly throttlePerSecond: number;
    readonly throttleBurst: number;
  };
  readonly truncate: {
    readonly isEnabled: boolean;
    readonly batchBytesMax: number;
    readonly eventBytesMax: number;
  };
}

export interface LogFileOptions extends Retention {
  readonly path: string;
  /** Maximum size of the file; 0 means that the file is not rotated. */
  readonly bytesMax: number;
}

interface AuditLogConfig extends LogOptions {
  readonly file: LogFileOptions;
}

export interface AuditConfig {
  readonly policy: AuditPolicy | undefined;
  readonly log: AuditLogConfig | undefined;
  /** Warnings that are logged at startup. */
  readonly warnings: readonly string[];
}

export const NO_AUDIT: AuditConfig = { policy: undefined, log: undefined, warnings: [] };

const MEGABYTE = 1024 * 1024;
const VERSION = "audit.k8s.io/v1";
const MODES: readonly string[] = ["batch", "blocking", "blocking-strict"];
const FORMATS: readonly string[] = ["legacy", "json"];

/** Throws an Error with a one-sentence message if the flags are invalid. */
export function resolveAudit(given: AuditGiven): AuditConfig {
  const { policy, warnings } = policyOf(given);
  const log = given.logPath === undefined || given.logPath === "" ? undefined : logOf(given, given.logPath);
  if (log !== undefined && policy === undefined)
    warnings.push("--audit-log-path has no effect without --audit-policy-file: nothing is audited");
  if (log === undefined && policy !== undefined)
    warnings.push("--audit-policy-file has no effect without --audit-log-path: nothing is audited");
  return { policy, log, warnings };
}

function policyOf({ policy: given }: AuditGiven): { policy: AuditPolicy | undefined; warnings: string[] } {
  if (given === undefined) return { policy: undefined, warnings: [] };
  try {
    const { policy, warnings } = parsePolicy(given.value);
    return { policy, warnings: warnings.map((warning) => `the audit policy ${given.file} contains the ${warning}`) };
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`loading audit policy file: ${why}: from file ${given.file}`, { cause: thrown });
  }
}

function logOf(given: AuditGiven, path: string): AuditLogConfig {
  const { logFormat: format, logMode: mode, logMaxAge, logMaxBackup, logMaxSize, logCompress: compress } = given;
  if (!MODES.includes(mode)) throw new Error(`invalid audit log mode ${mode}, allowed modes are "${MODES.join(",")}"`);
  const batch = mode === "batch" ? batchOf(given.batch) : UNUSED_BATCH;
  const eventBytesMax = truncationOf(given.truncate);
  if (given.logVersion !== VERSION) throw new Error(`invalid group version, allowed versions are ["${VERSION}"]`);
  if (!FORMATS.includes(format))
    throw new Error(`invalid audit log format ${format}, allowed formats are "${FORMATS.join(",")}"`);
  for (const [flag, value] of Object.entries({ maxage: logMaxAge, maxbackup: logMaxBackup, maxsize: logMaxSize }))
    if (value < 0) throw new Error(`--audit-log-${flag} ${value} can't be a negative number`);
  return {
    file: { path, bytesMax: logMaxSize * MEGABYTE, backupsMax: logMaxBackup, ageDaysMax: logMaxAge, compress },
    format: format as AuditLogConfig["format"],
    mode: mode as AuditLogConfig["mode"],
    batch,
    eventBytesMax,
  };
}

const UNUSED_BATCH: BatchOptions = { bufferSize: 1, sizeMax: 1, waitMaxMs: 0, throttle: undefined };

function batchOf(given: AuditGiven["batch"]): BatchOptions {
  const { bufferSize, sizeMax, waitMaxMs, isThrottled, throttlePerSecond: perSecond, throttleBurst: burst } = given;
  positive("batch log buffer size", bufferSize);
  positive("batch log max batch size", sizeMax);
  if (isThrottled) {
    positive("batch log throttle QPS", perSecond);
    positive("batch log throttle burst", burst);
  }
  return { bufferSize, sizeMax, waitMaxMs, throttle: isThrottled ? { perSecond, burst } : undefined };
}

function truncationOf({ isEnabled, batchBytesMax, eventBytesMax }: AuditGiven["truncate"]): number | undefined {
  positive("truncate log max event size", eventBytesMax);
  if (batchBytesMax < eventBytesMax)
    throw new Error(
      `invalid audit truncate log max batch size ${batchBytesMax}, must be greater than max event size (${eventBytesMax})`,
    );
  return isEnabled ? eventBytesMax : undefined;
}

function positive(what: string, value: number): void {
  if (!(value > 0)) throw new Error(`invalid audit ${what} ${value}, must be a positive number`);
}
