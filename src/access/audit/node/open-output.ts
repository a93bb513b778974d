/** The end of an audit log that its path names. */
import type { AuditOutput } from "../backend.ts";
import type { LogFileOptions } from "../options.ts";
import { openLogFile, type LogFileEnv } from "./log-file.ts";
import { standardOutput } from "./standard-output.ts";

/** Rejects when the file cannot be written to from the start. */
export function openAuditOutput(options: LogFileOptions, env: LogFileEnv): Promise<AuditOutput> {
  return options.path === "-" ? Promise.resolve(standardOutput(env.clock)) : openLogFile(options, env);
}
