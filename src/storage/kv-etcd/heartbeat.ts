/**
 * Notices a server that holds the connection but no longer answers: stopped, hung, or behind a
 * network that drops everything.
 *
 * It asks with a gRPC health check, not with an HTTP/2 PING: etcd counts pings that come more often
 * than every five seconds, or without an open stream, and then ends the connection. Any answer counts,
 * also an error: it is life that is asked for, not health.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import type { Channel } from "./grpc.ts";
import { HEARTBEAT_INTERVAL_MS, HEARTBEAT_TIMEOUT_MS } from "./etcd-limits.ts";
import { encodeEmpty, METHOD } from "./messages.ts";

export function watchHeartbeat(channel: Channel, clock: Clock, onSilence: (problem: string) => void): Cancel {
  let isStopped = false;
  let cancel: Cancel = () => {};
  let receivedBefore = channel.received;

  const listen = (): void => {
    receivedBefore = channel.received;
    cancel = clock.after(HEARTBEAT_INTERVAL_MS, () => {
      if (channel.received === receivedBefore) ask();
      else listen();
    });
  };

  const ask = (): void => {
    const call = { method: METHOD.health, frame: encodeEmpty() };
    const settled = (): void => {
      // After this process itself was stopped, timers run before the answers that wait in the socket are read.
      if (!isStopped) setImmediate(judge);
    };
    channel.unary(call, HEARTBEAT_TIMEOUT_MS).then(settled, settled);
  };

  const judge = (): void => {
    if (isStopped) return;
    if (channel.received === receivedBefore) onSilence(`no sign of life within ${HEARTBEAT_TIMEOUT_MS} ms`);
    else listen();
  };

  listen();
  return () => {
    isStopped = true;
    cancel();
  };
}
