/**
 * Wraps the clock, the store and the peer client of a server, so that `evenkeel up` can pause, kill or partition it
 * while other servers run in the same process.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Handler } from "../../../serving/http/chain.ts";
import type { ApiRequest } from "../../../serving/http/message.ts";
import { UPSTREAM_LIMITS } from "../../../serving/http/node/upstream/upstream-limits.ts";
import { type Upstream, UpstreamError } from "../../../serving/http/upstream.ts";
import type { Env } from "../../../server/env.ts";
import {
  StorageError,
  type Kv,
  type KvEvent,
  type WatchRequest,
  type WatchSink,
  type Watching,
} from "../../../storage/kv.ts";
import type { FaultSwitch } from "./fault-switch.ts";

export function faultyEnv(env: Env, faults: FaultSwitch): Env {
  return {
    ...env,
    clock: faultyClock(env.clock, faults),
    async openKv(config) {
      const kv = await env.openKv(config);
      faults.onKill(() => void kv.close().catch(ignore));
      return faultyKv(kv, faults);
    },
    openUpstream(config) {
      const upstream = env.openUpstream(config);
      faults.onKill(() => void upstream.close().catch(ignore));
      return faultyUpstream(upstream, env.clock, faults);
    },
  };
}

/** Wraps the handler of a server: requests to a paused server wait, and so do its responses. */
export function faultyHandler(handle: Handler<ApiRequest>, faults: FaultSwitch): Handler<ApiRequest> {
  return (request) => faults.settleWhileRunning(() => handle(request));
}

function faultyClock(clock: Clock, faults: FaultSwitch): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      let isCancelled = false;
      const cancel = clock.after(delayMs, () => faults.run(() => isCancelled || callback()));
      return () => {
        isCancelled = true;
        cancel();
      };
    },
  };
}

function faultyKv(kv: Kv, faults: FaultSwitch): Kv {
  return {
    range: (request) => faults.settleWhileRunning(() => kv.range(request)),
    commit: (change) => faults.settleWhileRunning(() => kv.commit(change)),
    watch: (request, sink) => faultyWatch({ kv, request, sink, faults }),
    onHistoryChange: (listener) => kv.onHistoryChange((evidence) => faults.run(() => listener(evidence))),
    currentRevision: () => faults.settleWhileRunning(() => kv.currentRevision()),
    compact: (revision) => faults.settleWhileRunning(() => kv.compact(revision)),
    leaseGrant: (ttlSeconds) => faults.settleWhileRunning(() => kv.leaseGrant(ttlSeconds)),
    leaseKeepAlive: (lease) => faults.settleWhileRunning(() => kv.leaseKeepAlive(lease)),
    leaseRevoke: (lease) => faults.settleWhileRunning(() => kv.leaseRevoke(lease)),
    close: () => faults.settleWhileRunning(() => kv.close()),
  };
}

/**
 * Maximum number of events of a watch that wait for a paused server. If there are more, the watch ends and must be
 * restarted.
 */
const WAITING_EVENTS_MAX = 10_000;

interface WatchParts {
  readonly kv: Kv;
  readonly request: WatchRequest;
  readonly sink: WatchSink;
  readonly faults: FaultSwitch;
}

function faultyWatch({ kv, request, sink, faults }: WatchParts): Watching {
  let isOpen = true;
  let waiting = 0;
  const whileOpen = (deliver: () => void): void =>
    faults.run(() => {
      if (!isOpen) return;
      try {
        deliver();
      } catch (thrown) {
        isOpen = false;
        watching.close();
        const message = "The watch was ended because its receiver failed.";
        sink.closed(new StorageError("unavailable", message, { cause: thrown }));
      }
    });
  const take = (batch: readonly KvEvent[]): void => {
    if (!isOpen) return;
    waiting += batch.length;
    if (waiting > WAITING_EVENTS_MAX && waiting > batch.length) return fallBehind(batch[0]?.modRevision ?? 0);
    whileOpen(() => {
      waiting -= batch.length;
      sink.events(batch);
    });
  };
  const end = (error: StorageError): void =>
    whileOpen(() => {
      isOpen = false;
      sink.closed(error);
    });
  const fallBehind = (revision: number): void => {
    watching.close();
    end(new StorageError("revision-compacted", "The watch has fallen too far behind.", { revision }));
  };
  const watching = kv.watch(request, {
    events: take,
    progress: (revision) => whileOpen(() => sink.progress(revision)),
    interrupted: (isInterrupted) => whileOpen(() => sink.interrupted(isInterrupted)),
    closed: end,
  });
  return {
    close() {
      isOpen = false;
      watching.close();
    },
  };
}

/** Wraps the peer client of a server: a connection across a partition does not fail at once, but times out. */
function faultyUpstream(upstream: Upstream, clock: Clock, faults: FaultSwitch): Upstream {
  faults.onUnreachable((address) => upstream.disconnect(address));
  return {
    send: (request) =>
      faults.settleWhileRunning(() =>
        faults.isReachable(request.address) ? upstream.send(request) : noConnection(clock, request.signal),
      ),
    retire: (address) => upstream.retire(address),
    disconnect: (address) => upstream.disconnect(address),
    close: () => faults.settleWhileRunning(() => upstream.close()),
  };
}

async function noConnection(clock: Clock, signal: AbortSignal): Promise<never> {
  const { connectTimeoutMs: timeoutMs } = UPSTREAM_LIMITS;
  const message = "no connection across the partition";
  if (await sleep(clock, timeoutMs, signal)) throw new UpstreamError("timeout", message, { isSent: false, timeoutMs });
  throw new UpstreamError("aborted", message, { isSent: false });
}

function ignore(): void {}
