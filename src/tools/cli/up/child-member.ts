/**
 * Runs a server of `evenkeel up --processes` in a child process and controls it from the parent, which owns the
 * embedded store.
 */
import { must } from "../../../base/assert.ts";
import { fork, type ChildProcess } from "node:child_process";
import type { LogLevel } from "../../../server/env-node.ts";
import { serveKv } from "../../../storage/kv-ipc/serve-kv.ts";
import type { SharedKv } from "../../../storage/share-kv.ts";
import { receiveAbout, sendAbout, storeChannel, type FromChild, type ToChild } from "./child-protocol.ts";
import type { Launch } from "./hosted-server.ts";
import type { RunningServer, StartServer } from "./member.ts";

export const CHILD_COMMAND = "up-server";

interface ChildOptions {
  readonly logLevel: LogLevel;
  /** The embedded store; undefined with etcd, because each child connects to etcd itself. */
  readonly shared: SharedKv | undefined;
  /** Receives the standard error of the children. */
  readonly writeLog: (text: string) => void;
}

export function inProcesses(options: ChildOptions): StartServer {
  return async (launch) => {
    const child = fork(
      must(process.argv[1], "node was started with a file"),
      [CHILD_COMMAND, launch.id, String(launch.options.release)],
      {
        serialization: "advanced",
        stdio: ["ignore", "ignore", "pipe", "ipc"],
      },
    );
    child.stderr?.setEncoding("utf8").on("data", options.writeLog);
    const exited = whenExited(child);
    serveStore(child, options.shared);
    const listening = Promise.withResolvers<number>();
    const ready = Promise.withResolvers<void>();
    ready.promise.catch(() => {});
    receiveAbout(child, "server", (received) => {
      const message = received as FromChild;
      if (message.kind === "listening") listening.resolve(message.port);
      else if (message.kind === "ready") ready.resolve();
      else listening.reject(Object.assign(new Error(message.message), { code: message.code }));
    });
    void exited.then((how) => {
      listening.reject(new Error(`${launch.id} ${how} before it was listening`));
      ready.reject(new Error(`${launch.id} ${how} before it was ready`));
    });
    start(child, launch, options);
    return memberOf({ child, exited, port: await listening.promise, ready: ready.promise });
  };
}

function start(child: ChildProcess, launch: Launch, { logLevel, shared }: ChildOptions): void {
  const store = shared === undefined ? "own" : "parent";
  sendAbout(child, "server", { kind: "start", launch, logLevel, store } satisfies ToChild);
}

/** Serves the store to a child. When the child exits, its watches end, and its leases expire. */
function serveStore(child: ChildProcess, shared: SharedKv | undefined): void {
  if (shared === undefined) return;
  const handle = shared.open();
  serveKv(handle, storeChannel(child));
  child.once("disconnect", () => void handle.close());
}

function whenExited(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not be started: ${error.message}`));
    child.once("exit", (code, signal) => resolve(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
  });
}

interface Child {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
  readonly port: number;
  readonly ready: Promise<void>;
}

function memberOf({ child, exited, port, ready }: Child): RunningServer {
  let isEnding = false;
  const end = async (request: () => void): Promise<void> => {
    isEnding = true;
    request();
    await exited;
  };
  return {
    pid: must(child.pid, "a server that listens has been spawned"),
    port,
    ready,
    ended: new Promise((resolve) => {
      void exited.then((how) => isEnding || resolve(how));
    }),
    stop: () => end(() => sendAbout(child, "server", { kind: "stop" } satisfies ToChild)),
    kill: () => end(() => child.kill("SIGKILL")),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    setUnreachable: (authorities) => sendAbout(child, "server", { kind: "unreachable", authorities } satisfies ToChild),
  };
}
