/** A running server as `evenkeel up` controls it, in this process or in a child process. */
import type { Log, LogFields } from "../../../base/log.ts";
import type { Env } from "../../../server/env.ts";
import type { SharedKv } from "../../../storage/share-kv.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { hostServer, type Launch } from "./hosted-server.ts";

export interface RunningServer {
  readonly pid: number;
  readonly port: number;
  readonly ready: Promise<void>;
  /** Resolves with the reason when the server ends unexpectedly. */
  readonly ended: Promise<string>;
  /** Shuts the server down gracefully. */
  stop(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Sets the addresses of peers, as host:port, that the server cannot reach. */
  setUnreachable(authorities: readonly string[]): void;
}

export type StartServer = (launch: Launch) => Promise<RunningServer>;

/**
 * Returns a function that starts servers in this process. They share the embedded store; with etcd each has its own
 * connections.
 */
export function inProcess(env: Env, shared: SharedKv | undefined): StartServer {
  return async (launch) => {
    const faults = new FaultSwitch();
    const ended = Promise.withResolvers<string>();
    const own: Env = {
      ...env,
      log: logOf(launch.id, env.log),
      // The other servers of this process continue.
      onFatal: (because) => {
        ended.resolve(`ended because ${because}`);
        void hosting.then((server) => server.kill());
      },
      ...(shared === undefined ? {} : { openKv: () => Promise.resolve(shared.open()) }),
    };
    const hosting = hostServer(own, launch, faults);
    const hosted = await hosting;
    return {
      pid: process.pid,
      port: hosted.port,
      ready: hosted.ready,
      ended: ended.promise,
      stop: () => hosted.stop(),
      kill: () => hosted.kill(),
      pause: () => faults.pause(),
      resume: () => faults.resume(),
      setUnreachable: (authorities) => faults.setUnreachable(authorities),
    };
  };
}

/** Adds the server ID to each log line, because several servers write to one standard error. */
export function logOf(server: string, log: Log): Log {
  const named = (fields: LogFields | undefined): LogFields => ({ server, ...fields });
  return {
    debug: (message, fields) => log.debug(message, named(fields)),
    info: (message, fields) => log.info(message, named(fields)),
    warn: (message, fields) => log.warn(message, named(fields)),
    error: (message, fields) => log.error(message, named(fields)),
  };
}
