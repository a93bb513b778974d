/**
 * The environment of a real process: system clock, randomness, log, network and store. tools/simulator/world.ts is the
 * only other implementation.
 */
import { openAuditOutput } from "../access/audit/node/open-output.ts";
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Clock } from "../base/clock.ts";
import type { Log, LogFields } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import { throughSuspend } from "../base/through-suspend.ts";
import { openKmsPlugin } from "../storage/encryption/kms/plugin-client.ts";
import { openEtcdKv } from "../storage/kv-etcd/kv.ts";
import { createMemoryKv } from "../storage/kv-memory/kv.ts";
import { openSqliteKv } from "../storage/kv-sqlite/kv.ts";
import type { Kv } from "../storage/kv.ts";
import type { Dial } from "../serving/http/node/upstream/dial.ts";
import {
  connectProxyOverTcp,
  connectProxyOverUnixSocket,
  type TcpProxy,
} from "../serving/http/node/upstream/egress.ts";
import type { EgressConnection, EgressTlsFiles } from "../serving/http/node/upstream/egress-config.ts";
import { createOutbound } from "../serving/http/node/upstream/create-outbound.ts";
import { createUpstream } from "../serving/http/node/upstream/create-upstream.ts";
import type { Outbound } from "../serving/http/outbound.ts";
import type { Upstream } from "../serving/http/upstream.ts";
import type { StorageConfig } from "./config.ts";
import type { Env, OutboundConfig, UpstreamConfig } from "./env.ts";
import { reloadingCertificate, reloadingCredentials } from "../serving/http/node/reloading-credentials.ts";
import { createSystemClock } from "../client/system.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** As for other failures of the command. A supervisor such as systemd or a kubelet then starts the process again. */
const FATAL_EXIT_CODE = 1;

export function createNodeEnv(options: { readonly logLevel: LogLevel; readonly write?: (line: string) => void }): Env {
  const clock = createServerClock();
  const write = options.write ?? ((line: string): void => void process.stderr.write(line));
  const log = createLog(options.logLevel, clock, write);
  return {
    clock,
    random: createRealRandom(),
    log,
    openKv: (config) => openKv(config, clock, log),
    openUpstream: (config) => openUpstream(config, clock, log),
    nextTurn: (callback) => void setImmediate(callback),
    openKmsPlugin: (address, onCall) => openKmsPlugin({ ...address, clock, onCall }),
    openAuditLog: (file) => openAuditOutput(file, { clock, log }),
    openOutbound: (config) => openOutbound(config, clock, log),
    onFatal: (because) => {
      write(`evenkeel: the server ends because ${because}\n`);
      process.exit(FATAL_EXIT_CODE);
    },
    processUsage: () => {
      const { user, system } = process.cpuUsage();
      return { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
    },
  };
}

function createServerClock(): Clock {
  const systemClock = createSystemClock();
  const monotonic = throughSuspend({
    wall: () => systemClock.now(),
    monotonic: () => systemClock.monotonic(),
    sinceBoot,
  });
  return { ...systemClock, monotonic };
}

/** On Linux this clock runs while the machine is suspended. Other platforms have no such file. */
function sinceBoot(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const seconds = Number(readFileSync("/proc/uptime", "latin1").split(" ", 1)[0]);
    return Number.isFinite(seconds) ? seconds * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** Number of random bytes fetched by one system call, which costs the same as a call for a few bytes. */
const RANDOM_BYTES_AT_ONCE = 4096;

function createRealRandom(): Random {
  let unused = Buffer.alloc(0);
  return {
    float: () => Math.random(),
    uuid: () => randomUUID(),
    bytes(length) {
      if (length > RANDOM_BYTES_AT_ONCE) return randomBytes(length);
      if (length > unused.length) unused = randomBytes(RANDOM_BYTES_AT_ONCE);
      const bytes = unused.subarray(0, length);
      unused = unused.subarray(length);
      return bytes;
    },
  };
}

function openKv(config: StorageConfig, clock: Clock, log: Log): Promise<Kv> {
  switch (config.kind) {
    case "memory":
      return Promise.resolve(createMemoryKv({ clock }));
    case "embedded":
      return openSqliteKv({ directory: config.directory, clock });
    case "etcd": {
      const { endpoints, tls } = config;
      return openEtcdKv({
        endpoints,
        clock,
        ...(tls === undefined ? {} : { tls }),
        log: warnOnce(log),
      });
    }
  }
}

/** Every server's certificate has this DNS name. A server verifies its peers by this name, whatever their addresses. */
const PEER_SERVER_NAME = "kubernetes.default.svc";

function openUpstream({ credentials, egress }: UpstreamConfig, clock: Clock, log: Log): Upstream {
  return createUpstream({
    tls: reloadingCredentials({ files: credentials, clock, log }),
    serverName: PEER_SERVER_NAME,
    ...egressDial(egress),
    log: (message, detail) => log.debug(message, { ...detail }),
  });
}

function openOutbound({ clientCertificate: files }: OutboundConfig, clock: Clock, log: Log): Outbound {
  return createOutbound({
    ...(files === undefined ? {} : { clientCertificate: reloadingCertificate({ files, clock, log }) }),
    log: (message, detail) => log.debug(message, { ...detail }),
  });
}

function egressDial(connection: EgressConnection): { dial?: Dial } {
  switch (connection.kind) {
    case "direct":
      return {};
    case "connect-over-unix-socket":
      return { dial: connectProxyOverUnixSocket({ path: connection.path }) };
    case "connect-over-tcp": {
      const { host, port, tls } = connection;
      return { dial: connectProxyOverTcp({ host, port, ...(tls === undefined ? {} : { tls: readTls(tls) }) }) };
    }
  }
}

function readTls({ caFile, certFile, keyFile }: EgressTlsFiles): NonNullable<TcpProxy["tls"]> {
  return {
    ...(caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") }),
    ...(certFile === undefined ? {} : { cert: readFileSync(certFile, "utf8") }),
    ...(keyFile === undefined ? {} : { key: readFileSync(keyFile, "utf8") }),
  };
}

/** Logs a message as a warning, but repetitions of the last message only at debug level. */
function warnOnce(log: Log): (message: string, detail: object) => void {
  let last = "";
  return (message, detail) => {
    if (message === last) log.debug(message, { ...detail });
    else log.warn(message, { ...detail });
    last = message;
  };
}

/** Writes one JSON object per line. */
function createLog(level: LogLevel, clock: Clock, write: (line: string) => void): Log {
  const lowest = LEVELS.indexOf(level);
  const at =
    (line: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (LEVELS.indexOf(line) < lowest) return;
      write(
        `${JSON.stringify({ time: new Date(clock.now()).toISOString(), level: line, message, ...plain(fields) })}\n`,
      );
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function plain(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? value.message : value]),
  );
}
