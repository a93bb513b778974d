/**
 * Keeps one channel to one of the etcd endpoints open while the store is open, and sends requests over it.
 *
 * States and transitions:
 * - `connecting` to an endpoint: becomes `ready` when the channel is ready and `verify` has accepted it. If the attempt
 *   fails or times out, it becomes `connecting` to the next endpoint, or `waiting` if every endpoint has been tried once in this round.
 * - `ready`: if the channel is lost, silent or unusable, it continues as after a failed attempt; but a new round begins
 *   if the channel was ready for at least the maximum backoff.
 * - `waiting`: becomes `connecting` after the backoff.
 * - `closed`: reached from any state, and final.
 *
 * A request waits for `ready` and is then sent once. It is resent only if no byte of it left this process, or if it is
 * idempotent and the connection was lost before the response.
 */
import { must } from "../../base/assert.ts";
import type { Cancel, Clock } from "../../base/clock.ts";
import { StorageError } from "../kv.ts";
import { closedError } from "../kv-errors.ts";
import { connectProblem } from "./connect-problem.ts";
import { type EtcdTls, tlsOptions } from "./endpoints.ts";
import { isMemberUnusable, toCommitError, toStorageError, unavailable } from "./errors.ts";
import { type UnaryCall, Channel } from "../grpc/channel.ts";
import { RpcFailure } from "../grpc/rpc-failure.ts";
import { watchHeartbeat } from "./heartbeat.ts";
import {
  ATTEMPTS_MAX,
  ETCD_BACKOFF_MS_MAX,
  ETCD_BACKOFF_MS_MIN,
  CONNECT_TIMEOUT_MS,
  HISTORY_CHECK_TIMEOUT_MS,
  MESSAGE_SEND_BYTES_MAX,
  REQUESTS_PENDING_BYTES_MAX,
  REQUESTS_PENDING_MAX,
  UNREACHABLE_WAIT_MS,
} from "./etcd-limits.ts";

export type EtcdLog = (message: string, detail: object) => void;

interface ConnectionOptions {
  readonly endpoints: readonly URL[];
  readonly tls: EtcdTls | undefined;
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly log: EtcdLog;
  /**
   * Checks a channel before any request is sent over it. The channel is not used if the promise rejects; undefined
   * means that there is nothing to check.
   */
  readonly verify: (channel: Channel) => Promise<void> | undefined;
}

interface ConnectionObserver {
  /** A channel is ready. `down` is called before `up` is called again. */
  up(channel: Channel): void;
  /** The channel is lost, or an attempt to open one has failed; called for each failed attempt. */
  down(): void;
}

interface EtcdRequest extends UnaryCall {
  /** Whether sending the request twice has the same effect as sending it once. */
  readonly isIdempotent: boolean;
}

type State =
  | { readonly kind: "connecting"; readonly channel: Channel; readonly stop: Cancel }
  | { readonly kind: "ready"; readonly channel: Channel; readonly stop: Cancel }
  | { readonly kind: "waiting"; readonly stop: Cancel }
  | { readonly kind: "closed" };

interface Waiter {
  readonly resolve: (channel: Channel) => void;
  readonly reject: (error: StorageError) => void;
  readonly cancelTimer: Cancel;
}

export class EtcdConnection {
  readonly #options: ConnectionOptions;
  readonly #observers: ConnectionObserver[] = [];
  readonly #waiters = new Set<Waiter>();
  #state: State;
  #endpointIndex = 0;
  #triedInRound = 0;
  #backoffMs = ETCD_BACKOFF_MS_MIN;
  #readySinceMs = 0;
  #downSinceMs: number;
  #lastProblem = "not connected yet";
  /** True if every endpoint has failed since a channel was last ready. */
  #isOutOfReach = false;
  #isDraining = false;
  #pending = 0;
  #pendingBytes = 0;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#downSinceMs = options.clock.monotonic();
    this.#state = { kind: "waiting", stop: options.clock.after(0, () => this.#connect()) };
  }

  observe(observer: ConnectionObserver): void {
    this.#observers.push(observer);
    if (this.#state.kind === "ready") observer.up(this.#state.channel);
  }

  /** Rejects with a `StorageError` if the request fails. */
  async request(request: EtcdRequest): Promise<Buffer> {
    this.#admit(request);
    try {
      return await this.#send(request);
    } finally {
      this.#pending--;
      this.#pendingBytes -= request.frame.length;
    }
  }

  async #send(request: EtcdRequest): Promise<Buffer> {
    const { clock, requestTimeoutMs } = this.#options;
    const deadlineMs = clock.monotonic() + requestTimeoutMs;
    for (let attempt = 1; ; attempt++) {
      const channel = this.#readyChannel() ?? (await this.#waitForChannel(deadlineMs - clock.monotonic()));
      try {
        return await channel.unary(request, Math.max(1, deadlineMs - clock.monotonic()));
      } catch (thrown) {
        this.report(channel, thrown);
        if (attempt === ATTEMPTS_MAX || !mayRepeat(request, thrown))
          throw request.isIdempotent ? toStorageError(thrown) : toCommitError(thrown);
      }
    }
  }

  /** Reports a failed call, so that the connection leaves a channel that is unusable. */
  report(channel: Channel, failure: unknown): void {
    if (this.#state.kind !== "ready" || this.#state.channel !== channel) return;
    if (!channel.isUsable()) this.#leave(`connection lost: ${messageOf(failure)}`);
    else if (this.#options.endpoints.length > 1 && isMemberUnusable(failure)) this.#leave(messageOf(failure));
  }

  /** Fails the requests that wait for a channel and have not been sent. */
  rejectWaiting(error: StorageError): void {
    for (const waiter of this.#takeWaiters()) waiter.reject(error);
  }

  /** From now on requests do not wait for an unreachable etcd: requests that have not been sent fail at once. */
  drain(): void {
    this.#isDraining = true;
    if (this.#isOutOfReach) this.#turnAway();
  }

  close(): void {
    const state = this.#state;
    if (state.kind === "closed") return;
    this.#state = { kind: "closed" };
    state.stop();
    if (state.kind !== "waiting") state.channel.destroy("the store was closed");
    for (const waiter of this.#takeWaiters()) waiter.reject(closedError());
  }

  #admit({ frame }: EtcdRequest): void {
    if (this.#state.kind === "closed") throw closedError();
    if (frame.length > MESSAGE_SEND_BYTES_MAX) {
      throw new StorageError("too-large", `a request of ${frame.length} bytes exceeds ${MESSAGE_SEND_BYTES_MAX}`);
    }
    if (this.#pending >= REQUESTS_PENDING_MAX || this.#pendingBytes + frame.length > REQUESTS_PENDING_BYTES_MAX) {
      throw new StorageError("overloaded", `${this.#pending} requests to etcd are already pending`);
    }
    this.#pending++;
    this.#pendingBytes += frame.length;
  }

  #readyChannel(): Channel | undefined {
    if (this.#state.kind !== "ready") return undefined;
    if (this.#state.channel.isUsable()) return this.#state.channel;
    this.#leave("connection lost");
    return undefined;
  }

  #waitForChannel(remainingMs: number): Promise<Channel> {
    if (this.#state.kind === "closed" || (this.#isDraining && this.#isOutOfReach)) return Promise.reject(closedError());
    const { clock, requestTimeoutMs } = this.#options;
    const downForMs = clock.monotonic() - this.#downSinceMs;
    const waitMs = Math.min(remainingMs, Math.max(UNREACHABLE_WAIT_MS, requestTimeoutMs - downForMs));
    return new Promise((resolve, reject) => {
      const cancelTimer = clock.after(Math.max(0, waitMs), () => {
        this.#waiters.delete(waiter);
        reject(unavailable(`etcd is unreachable: ${this.#lastProblem}`));
      });
      const waiter: Waiter = { resolve, reject, cancelTimer };
      this.#waiters.add(waiter);
    });
  }

  #turnAway(): void {
    this.rejectWaiting(unavailable(`the store is closing while etcd is unreachable: ${this.#lastProblem}`));
  }

  #takeWaiters(): Waiter[] {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter.cancelTimer();
    return waiters;
  }

  #connect(): void {
    const { clock, endpoints, tls } = this.#options;
    const endpoint = must(endpoints[this.#endpointIndex], "the index is within the endpoints");
    const isCurrent = (): boolean => this.#state.kind === "connecting" && this.#state.channel === channel;
    const fail = (problem: string): void => {
      if (isCurrent()) this.#connectFailed(channel, problem);
    };
    const channel = new Channel({
      endpoint,
      session: tlsOptions(endpoint, tls),
      clock,
      onReady: () => {
        if (isCurrent()) this.#verify(channel, isCurrent);
      },
      onLost: (reason) => {
        if (this.#state.kind === "ready" && this.#state.channel === channel) this.#goneAway(reason.message);
        else fail(reason.message);
      },
    });
    const stop = clock.after(CONNECT_TIMEOUT_MS, () => fail(`no response within ${CONNECT_TIMEOUT_MS} ms`));
    this.#state = { kind: "connecting", channel, stop };
  }

  #verify(channel: Channel, isCurrent: () => boolean): void {
    const checking = this.#options.verify(channel);
    if (checking === undefined) return this.#connected(channel);
    this.#stopTimers();
    const fail = (problem: string): void => {
      if (isCurrent()) this.#connectFailed(channel, problem);
    };
    const late = `its history could not be read within ${HISTORY_CHECK_TIMEOUT_MS} ms`;
    const stop = this.#options.clock.after(HISTORY_CHECK_TIMEOUT_MS, () => fail(late));
    this.#state = { kind: "connecting", channel, stop };
    checking.then(
      () => {
        if (isCurrent()) this.#connected(channel);
      },
      (thrown: unknown) => fail(messageOf(thrown)),
    );
  }

  #connected(channel: Channel): void {
    this.#stopTimers();
    this.#isOutOfReach = false;
    this.#readySinceMs = this.#options.clock.monotonic();
    const stop = watchHeartbeat(channel, this.#options.clock, (problem) => this.#leave(problem));
    this.#state = { kind: "ready", channel, stop };
    this.#options.log("connected to etcd", { endpoint: channel.endpoint.host });
    for (const observer of this.#observers) observer.up(channel);
    for (const waiter of this.#takeWaiters()) waiter.resolve(channel);
  }

  #connectFailed(channel: Channel, reason: string): void {
    const problem = connectProblem(channel.endpoint, reason);
    this.#stopTimers();
    channel.destroy(problem);
    this.#lastProblem = `${channel.endpoint.host}: ${problem}`;
    if (this.#triedInRound === 0) {
      this.#options.log("etcd endpoint unreachable", { endpoint: channel.endpoint.host, problem });
    }
    this.#triedInRound++;
    this.#next();
    for (const observer of this.#observers) observer.down();
  }

  /** Closes a ready channel at once; calls in flight on it fail as `lost`. */
  #leave(problem: string): void {
    if (this.#state.kind !== "ready") return;
    const { channel } = this.#state;
    this.#goneAway(problem);
    channel.destroy(problem);
  }

  /** Stops using a ready channel for new calls, but lets the calls in flight on it complete. */
  #goneAway(problem: string): void {
    if (this.#state.kind !== "ready") return;
    const { endpoint } = this.#state.channel;
    this.#stopTimers();
    this.#downSinceMs = this.#options.clock.monotonic();
    // A channel that was ready for less than the maximum backoff counts as one more failed attempt. Otherwise members
    // that respond but have no leader would be tried in a loop without a delay.
    if (this.#downSinceMs - this.#readySinceMs < ETCD_BACKOFF_MS_MAX) this.#triedInRound++;
    else {
      this.#triedInRound = 0;
      this.#backoffMs = ETCD_BACKOFF_MS_MIN;
    }
    this.#lastProblem = `${endpoint.host}: ${problem}`;
    this.#options.log("etcd connection lost", { endpoint: endpoint.host, problem });
    this.#next();
    for (const observer of this.#observers) observer.down();
  }

  #next(): void {
    const { clock, endpoints } = this.#options;
    this.#endpointIndex = (this.#endpointIndex + 1) % endpoints.length;
    if (this.#triedInRound < endpoints.length) {
      this.#state = { kind: "waiting", stop: clock.after(0, () => this.#connect()) };
      return;
    }
    this.#triedInRound = 0;
    this.#isOutOfReach = true;
    if (this.#isDraining) this.#turnAway();
    this.#state = { kind: "waiting", stop: clock.after(this.#backoffMs, () => this.#connect()) };
    this.#backoffMs = Math.min(this.#backoffMs * 2, ETCD_BACKOFF_MS_MAX);
  }

  #stopTimers(): void {
    if (this.#state.kind !== "closed") this.#state.stop();
  }
}

function mayRepeat(request: EtcdRequest, thrown: unknown): boolean {
  if (!(thrown instanceof RpcFailure)) return false;
  return thrown.kind === "unsent" || (request.isIdempotent && thrown.kind === "lost");
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
