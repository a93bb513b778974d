/** Everything that is not ours and not deterministic. This is the whole list. */
import type { AuditOutput } from "../access/audit/backend.ts";
import type { LogFileOptions } from "../access/audit/options.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { EgressConnection } from "../serving/http/node/upstream/egress-config.ts";
import type { Outbound } from "../serving/http/outbound.ts";
import type { Upstream } from "../serving/http/upstream.ts";
import type { Kv } from "../storage/kv.ts";
import type { StorageConfig } from "./config.ts";
import type { ClientCertificateFiles, PeerCredentials } from "../serving/http/node/reloading-credentials.ts";

export interface UpstreamConfig {
  readonly credentials: PeerCredentials;
  readonly egress: EgressConnection;
}

export interface OutboundConfig {
  /** With these this server proves who it is, where it has to. */
  readonly clientCertificate: ClientCertificateFiles | undefined;
}

export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly openKv: (config: StorageConfig) => Promise<Kv>;
  /** The way to other servers of the cluster. */
  readonly openUpstream: (config: UpstreamConfig) => Upstream;
  /** The way to everybody else: webhooks and aggregated API servers. Absent: there is none. */
  readonly openOutbound?: (config: OutboundConfig) => Outbound;
  /** Where audit events are written. Absent: nowhere. */
  readonly openAuditLog?: (file: LogFileOptions) => Promise<AuditOutput>;
  /** Calls back when the event loop has come round. Absent where there is none. */
  readonly nextTurn?: (callback: () => void) => void;
  /** Resident memory in bytes, CPU seconds used: for /metrics. */
  readonly processUsage: () => { readonly residentBytes: number; readonly cpuSeconds: number };
}
