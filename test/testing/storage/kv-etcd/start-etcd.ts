/** A real etcd for tests: one member on free ports of 127.0.0.1, its data in a temporary directory. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEtcdKv } from "../../../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../../real-clock.ts";

export const ETCD_MISSING = "etcd is not installed, so its tests were skipped (apt-get install etcd-server)";

export interface EtcdProcess {
  readonly endpoint: string;
  /** Process ID; `restart` changes it. */
  readonly pid: number;
  /** The database of the member. etcd writes to it while it runs. */
  readonly databaseFile: string;
  /** `pause` sends SIGSTOP, `resume` sends SIGCONT. */
  pause(): void;
  resume(): void;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
  /** Sends SIGTERM, so that etcd completes its database; resolves when the process has exited. */
  terminate(): Promise<void>;
  /** Starts again after `kill` or `terminate`, with the same ports and data. */
  restart(): Promise<void>;
  /** Copies the data. Call it only while the process is killed. */
  backUp(): EtcdBackup;
  /** Stops the process and removes its data and backups. */
  stop(): Promise<void>;
}

interface EtcdBackup {
  /** Replaces the data by that of the backup. Call it only while the process is killed. */
  restore(): void;
}

export interface StartEtcdOptions {
  readonly tls?: EtcdTlsFiles;
  /** Additional command line arguments. */
  readonly extraArguments?: readonly string[];
}

/** The TLS files of the server, and the certificate that clients must present; all are signed by the same CA. */
export interface EtcdTlsFiles {
  readonly ca: Buffer;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly clientCert: Buffer;
  readonly clientKey: Buffer;
}

const START_TIMEOUT_MS = 20_000;

/** Undefined if there is no etcd in PATH. */
export async function startEtcd(options: StartEtcdOptions = {}): Promise<EtcdProcess | undefined> {
  if (!hasEtcd()) return undefined;
  const dataDirectory = mkdtempSync(join(tmpdir(), "evenkeel-etcd-"));
  const scheme = options.tls === undefined ? "http" : "https";
  const endpoint = `${scheme}://127.0.0.1:${await freePort()}`;
  const commandLine = etcdArguments({
    endpoint,
    peerUrl: `http://127.0.0.1:${await freePort()}`,
    dataDirectory,
    ...options,
  });
  const start = async (): Promise<ChildProcess> => {
    const started = spawn("etcd", commandLine, { stdio: ["ignore", "ignore", "pipe"] });
    endWithThisProcess(started);
    await untilServing(started, endpoint, options.tls);
    return started;
  };
  let child = await start();
  const backups: string[] = [];
  const endWith = async (signal: "SIGKILL" | "SIGTERM"): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };
  const kill = (): Promise<void> => endWith("SIGKILL");
  return {
    endpoint,
    get pid() {
      return child.pid!;
    },
    databaseFile: join(dataDirectory, "member", "snap", "db"),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    kill,
    terminate: () => endWith("SIGTERM"),
    restart: async () => {
      child = await start();
    },
    backUp: () => {
      const copy = `${dataDirectory}-backup-${backups.length}`;
      backups.push(copy);
      cpSync(dataDirectory, copy, { recursive: true });
      return {
        restore() {
          rmSync(dataDirectory, { recursive: true, force: true });
          cpSync(copy, dataDirectory, { recursive: true });
        },
      };
    },
    stop: async () => {
      await kill();
      for (const path of [dataDirectory, ...backups]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a process that kills etcd when this process ends. If a test hangs, this process is killed without running any
 * handler, but the pipe to the guard closes even then.
 */
function endWithThisProcess(child: ChildProcess): void {
  const guard = spawn("sh", ["-c", 'read _; kill -9 "$0"', String(child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
  guard.unref();
  // The guard ends with etcd; otherwise it could later kill another process with the same PID.
  child.once("exit", () => guard.kill("SIGKILL"));
}

export function hasEtcd(): boolean {
  try {
    execFileSync("etcd", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

interface EtcdArguments extends StartEtcdOptions {
  readonly endpoint: string;
  readonly peerUrl: string;
  readonly dataDirectory: string;
}

/** The election times are short, so that etcd starts quickly and grants leases as short as one second. */
function etcdArguments({ endpoint, peerUrl, dataDirectory, tls, extraArguments = [] }: EtcdArguments): string[] {
  const tlsArguments = tls && [
    `--trusted-ca-file=${tls.caFile}`,
    `--cert-file=${tls.certFile}`,
    `--key-file=${tls.keyFile}`,
    "--client-cert-auth",
  ];
  return [
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${endpoint}`,
    `--advertise-client-urls=${endpoint}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--heartbeat-interval=50",
    "--election-timeout=500",
    "--logger=zap",
    "--log-level=error",
    ...(tlsArguments ?? []),
    ...extraArguments,
  ];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** etcd is ready when it serves a linearizable read. */
async function untilServing(child: ChildProcess, endpoint: string, tls: EtcdTlsFiles | undefined): Promise<void> {
  let output = "";
  child.stderr!.on("data", (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  });
  const kv = await openEtcdKv({
    endpoints: [endpoint],
    clock: realClock(),
    requestTimeoutMs: START_TIMEOUT_MS,
    ...(tls && { tls: { ca: tls.ca, cert: tls.clientCert, key: tls.clientKey } }),
  });
  const exited = once(child, "exit").then(() => {
    throw new Error(`etcd exited at once: ${output}`);
  });
  exited.catch(() => {});
  try {
    await Promise.race([kv.currentRevision(), exited]);
  } catch (cause) {
    child.kill("SIGKILL");
    throw new Error(`etcd is not ready: ${output}`, { cause });
  } finally {
    void kv.close();
  }
}
