/** Creates the audit filters and opens the audit log according to the configuration. */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Random } from "../../base/random.ts";
import type { AuditOutput } from "./backend.ts";
import { createAudit, type AttributesOf, type Audit } from "./create-audit.ts";
import { createLogBackend } from "./log-backend.ts";
import { createAuditMetrics } from "./metrics.ts";
import type { ReadBody } from "./objects.ts";
import type { AuditConfig, LogFileOptions } from "./options.ts";

export interface OpenAuditParts {
  readonly config: AuditConfig;
  /** Opens the output of the audit log; rejects if it cannot be written. Absent if the environment has no files. */
  readonly openOutput?: ((file: LogFileOptions) => Promise<AuditOutput>) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: MetricsRegistry;
  readonly log: Log;
  readonly readBody?: ReadBody | undefined;
  readonly attributesOf?: AttributesOf | undefined;
}

/**
 * Rejects with a one-sentence error if the audit log cannot be opened, because a server that must audit does not start
 * without it.
 */
export async function openAudit(parts: OpenAuditParts): Promise<Audit> {
  const { config, openOutput, clock, log, random, readBody, attributesOf } = parts;
  const metrics = createAuditMetrics(parts.metrics);
  for (const warning of config.warnings) log.warn(warning);
  const { policy } = config;
  const common = { clock, random, metrics, readBody, attributesOf };
  if (policy === undefined || config.log === undefined || openOutput === undefined) return createAudit(common);
  const { file, ...options } = config.log;
  const output = await openOutput(file).catch((thrown: unknown) => {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`failed to open the audit log ${file.path}: ${why}`, { cause: thrown });
  });
  return createAudit({ ...common, policy, backend: createLogBackend({ ...options, output, metrics, clock, log }) });
}
