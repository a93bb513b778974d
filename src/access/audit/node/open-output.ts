/** Opens the audit output for a path: standard output for "-", otherwise a log file. */
import type { AuditOutput } from "../backend.ts";
import type { LogFileOptions } from "../options.ts";
import { openLogFile, type LogFileEnv } from "./log-file.ts";
import { standardOutput } from "./standard-output.ts";

/** Rejects if the log file cannot be created or opened. */
export function openAuditOutput(options: LogFileOptions, env: LogFileEnv): Promise<AuditOutput> {
  return options.path === "-" ? Promise.resolve(standardOutput(env.clock)) : openLogFile(options, env);
}
