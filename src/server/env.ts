/**
 * The environment of a server: everything nondeterministic or external that it uses. The simulator replaces all of it,
 * so a server must use nothing nondeterministic or external except through it.
 */
import type { AuditOutput } from "../access/audit/backend.ts";
import type { LogFileOptions } from "../access/audit/options.ts";
import type { TaskFaults } from "../base/background.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { EgressConnection } from "../serving/http/node/upstream/egress-config.ts";
import type { Outbound } from "../serving/http/outbound.ts";
import type { Upstream } from "../serving/http/upstream.ts";
import type { OpenKmsPlugin } from "../storage/encryption/active-encryption.ts";
import type { Kv } from "../storage/kv.ts";
import type { StorageConfig } from "./config.ts";
import type { ClientCertificateFiles, PeerCredentials } from "../serving/http/node/reloading-credentials.ts";

export interface UpstreamConfig {
  readonly credentials: PeerCredentials;
  readonly egress: EgressConnection;
}

export interface OutboundConfig {
  /** The client certificate of this server, for webhooks and aggregated API servers that require one. */
  readonly clientCertificate: ClientCertificateFiles | undefined;
}

export interface Env extends TaskFaults {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly openKv: (config: StorageConfig) => Promise<Kv>;
  /** Opens the transport to the peers of the server. */
  readonly openUpstream: (config: UpstreamConfig) => Upstream;
  /** Opens the transport to webhooks and aggregated API servers. Absent if the server cannot call them. */
  readonly openOutbound?: (config: OutboundConfig) => Outbound;
  /** Opens the audit log. Absent if audit events cannot be written. */
  readonly openAuditLog?: (file: LogFileOptions) => Promise<AuditOutput>;
  /** Connects to a KMS plugin on this machine. Absent if the server cannot call plugins. */
  readonly openKmsPlugin?: OpenKmsPlugin;
  /** Runs the callback in the next turn of the event loop. Absent in the simulator. */
  readonly nextTurn?: (callback: () => void) => void;
  /** Resident memory in bytes and CPU seconds used, for /metrics. */
  readonly processUsage: () => { readonly residentBytes: number; readonly cpuSeconds: number };
}
