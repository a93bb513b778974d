/**
 * Detects an etcd server that keeps the connection open but does not respond, because it is stopped or hung or because
 * the network drops all packets.
 *
 * It probes with a gRPC health check instead of an HTTP/2 PING, because etcd closes connections that send pings more
 * often than every five seconds or without an open stream. Any response counts, including an error: the probe checks
 * that the server responds, not that it is healthy.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import type { Channel } from "../grpc/channel.ts";
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
      // If this process itself was stopped, its timers run before it reads the responses that wait in the socket.
      // `setImmediate` lets it read them first.
      if (!isStopped) setImmediate(judge);
    };
    channel.unary(call, HEARTBEAT_TIMEOUT_MS).then(settled, settled);
  };

  const judge = (): void => {
    if (isStopped) return;
    if (channel.received === receivedBefore) onSilence(`no response to a heartbeat within ${HEARTBEAT_TIMEOUT_MS} ms`);
    else listen();
  };

  listen();
  return () => {
    isStopped = true;
    cancel();
  };
}
