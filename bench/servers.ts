/** Starts the two servers that are compared: ours, as a user starts it, and the floor. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServingCertificate } from "../src/serving/http/node/serving-certificate.ts";
import { Child } from "./child.ts";
import { pinned } from "./cores.ts";
import type { FloorResponse, FloorMessage, FloorPorts } from "./floor-server.ts";
import { untilReady } from "./until-ready.ts";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));
export const TOKEN = "evenkeel-bench-token";

export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  /** Milliseconds from the start of the process to the first 200 of /readyz. */
  readonly readyMs: number;
  stop(): Promise<void>;
}

export interface ServerStart {
  readonly core: number | undefined;
  readonly dataDirectory: string;
  readonly etcd?: string;
  /** Additional lines of the token file. */
  readonly users?: readonly string[];
  /** Additional flags of `evenkeel serve`. */
  readonly flags?: readonly string[];
}

export function temporaryDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "evenkeel-bench-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export async function startServer({
  core,
  dataDirectory,
  etcd,
  users = [],
  flags: more = [],
}: ServerStart): Promise<RunningServer> {
  const port = await freePort();
  const tokens = join(dataDirectory, "bench-tokens.csv");
  writeFileSync(tokens, [`${TOKEN},bench,bench,"system:masters"`, ...users].join("\n"));
  const flags = [
    "--secure-port",
    String(port),
    "--data-dir",
    dataDirectory,
    "--token-auth-file",
    tokens,
    // The measured pods have no service account.
    "--disable-admission-plugins=ServiceAccount",
    "--log-level",
    "error",
    ...(etcd === undefined ? [] : ["--etcd-servers", etcd]),
    ...more,
  ];
  const started = performance.now();
  const child = new Child({
    command: pinned(core, [join(ROOT, "bin", "evenkeel"), "serve", ...flags]),
    stdio: ["ignore", "ignore", "inherit"],
    cwd: ROOT,
  });
  await untilReady(port, child);
  return { pid: child.pid, port, readyMs: performance.now() - started, stop: () => child.stop() };
}

export interface PlainProcess {
  readonly child: Child;
  readonly startedMs: number;
  stop(): Promise<void>;
}

/**
 * Strips the types first, so that the floor runs as plain JavaScript like our server: doing it at startup would add to
 * the floor's startup time and memory.
 */
export function startPlain(source: string, core: number | undefined): PlainProcess {
  const directory = temporaryDirectory();
  const file = join(directory.path, source.replace(/\.ts$/, ".mjs"));
  writeFileSync(file, stripTypeScriptTypes(readFileSync(new URL(source, import.meta.url), "utf8")));
  const startedMs = performance.now();
  const child = new Child({
    command: pinned(core, [process.execPath, file]),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return { child, startedMs, stop: () => child.stop().finally(() => directory.remove()) };
}

export interface Floor extends RunningServer {
  readonly http2Port: number;
  setResponse(path: string, answer: FloorResponse): Promise<void>;
  setEvent(event: string): Promise<void>;
}

export async function startFloor(certificate: ServingCertificate, core?: number): Promise<Floor> {
  const port = await freePort();
  const plain = startPlain("floor-server.ts", core);
  const { child, startedMs } = plain;
  const tell = <Reply>(message: FloorMessage): Promise<Reply> => child.ask(message);
  const ports = await tell<FloorPorts>({ kind: "start", cert: certificate.certPem, key: certificate.keyPem, port });
  await untilReady(port, child);
  return {
    pid: child.pid,
    port,
    http2Port: ports.http2,
    readyMs: performance.now() - startedMs,
    setResponse: (path, response) => tell({ kind: "answer", path, answer: response }),
    setEvent: (event) => tell({ kind: "event", event }),
    stop: () => plain.stop(),
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("there is no free port");
  return address.port;
}
