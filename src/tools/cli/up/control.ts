/**
 * The control socket of a running cluster, by which commands such as `evenkeel fault` reach it: a Unix socket in the
 * data directory that only its user may open. A request is one line of JSON, and so is its response.
 */
import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join, relative } from "node:path";
import { CommandFailure } from "../failure.ts";

export interface ControlRequest {
  readonly command: string;
  readonly id?: string;
  readonly spec?: string;
  readonly fault?: string;
  readonly force?: boolean;
}

type ControlResponse = { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: string };

export type ControlHandler = (request: ControlRequest) => Promise<unknown>;

const LINE_BYTES_MAX = 64 * 1024;
const RESPONSE_BYTES_MAX = 1024 * 1024;
const CONNECTIONS_MAX = 16;
const REQUEST_MS = 10_000;
/** The kernel's limit for socket paths, checked here because not every system reports it as a separate error. */
const SOCKET_PATH_BYTES_MAX = 103;

interface ControlServer {
  close(): void;
}

/** Fails with the process ID if the cluster of this directory is already running. */
export async function openControl(directory: string, handle: ControlHandler): Promise<ControlServer> {
  const path = socketPath(directory);
  const pid = await runningPid(directory);
  if (pid !== undefined)
    throw new CommandFailure(`the cluster in ${directory} is already running as process ${pid}`, 1);
  // A process that was killed may have left its socket behind.
  rmSync(path, { force: true });
  const server = createServer((socket) => serve(socket, handle));
  server.maxConnections = CONNECTIONS_MAX;
  await listening(server, path);
  chmodSync(path, 0o600);
  return { close: () => void server.close() };
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) =>
      reject(new CommandFailure(`the control socket ${path} cannot be used: ${error.message}`, 1)),
    );
    server.listen(path, resolve);
  });
}

function serve(socket: Socket, handle: ControlHandler): void {
  const timer = setTimeout(() => socket.destroy(), REQUEST_MS);
  socket.on("error", () => {});
  socket.once("close", () => clearTimeout(timer));
  readLine(socket, LINE_BYTES_MAX).then(
    async (line) => {
      clearTimeout(timer);
      socket.end(`${JSON.stringify(await respond(line, handle))}\n`);
    },
    () => socket.destroy(),
  );
}

async function respond(line: string, handle: ControlHandler): Promise<ControlResponse> {
  try {
    const request: unknown = JSON.parse(line);
    if (!isRequest(request)) return { ok: false, error: "invalid request" };
    return { ok: true, result: await handle(request) };
  } catch (thrown) {
    return { ok: false, error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function isRequest(value: unknown): value is ControlRequest {
  if (typeof value !== "object" || value === null) return false;
  const { command, id, spec, fault, force } = value as Record<string, unknown>;
  const isText = [id, spec, fault].every((one) => one === undefined || typeof one === "string");
  return typeof command === "string" && isText && (force === undefined || typeof force === "boolean");
}

/** Returns the result, or throws a CommandFailure with the error message of the cluster. */
export async function sendControlRequest(directory: string, request: ControlRequest): Promise<unknown> {
  const answered = await exchange(directory, request);
  if (answered === undefined)
    throw new CommandFailure(
      `no cluster is running in ${directory}: start one with evenkeel up --data-dir ${directory}`,
      1,
    );
  if (!answered.ok) throw new CommandFailure(answered.error, 1);
  return answered.result;
}

/** The ID of the process that runs the cluster of this directory; undefined if none does. */
async function runningPid(directory: string): Promise<number | undefined> {
  const answered = await exchange(directory, { command: "status" });
  if (answered === undefined) return undefined;
  return answered.ok ? ((answered.result as { pid?: number } | null)?.pid ?? 0) : 0;
}

/** Sends a request and returns the response; undefined if no process listens on the socket. */
async function exchange(directory: string, request: ControlRequest): Promise<ControlResponse | undefined> {
  const socket = connect({ path: socketPath(directory) });
  try {
    const line = readLine(socket, RESPONSE_BYTES_MAX);
    socket.write(`${JSON.stringify(request)}\n`);
    return JSON.parse(await line) as ControlResponse;
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ECONNREFUSED") return undefined;
    throw new CommandFailure(`the cluster in ${directory} does not respond: ${message}`, 1);
  } finally {
    socket.destroy();
  }
}

function readLine(socket: Socket, bytesMax: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end !== -1) resolve(text.slice(0, end));
      else if (text.length > bytesMax) reject(new Error("the line is too long"));
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection ended without a response")));
  });
}

function socketPath(directory: string): string {
  const absolute = join(directory, "control.sock");
  const path = [absolute, relative(process.cwd(), absolute)].find(
    (candidate) => Buffer.byteLength(candidate) <= SOCKET_PATH_BYTES_MAX,
  );
  if (path !== undefined) return path;
  throw new CommandFailure(`the path of the data directory ${directory} is too long for its control socket`, 1);
}
