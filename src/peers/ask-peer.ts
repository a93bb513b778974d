/** What a server asks its peers on its own behalf: small answers, read whole, within a deadline. */
import type { User } from "../auth/user.ts";
import type { Clock } from "../base/clock.ts";
import type { Frame, ResponseBody, StreamSink } from "../http/message.ts";
import { UpstreamError, type Upstream, type UpstreamAddress } from "../http/upstream.ts";
import { answerHeader, ownHeaders } from "./hop.ts";

/** As the reference introduces itself to peers. */
const SELF: User = { name: "system:apiserver", uid: "system:apiserver", groups: ["system:authenticated"], extra: {} };

export interface PeerQuestion {
  readonly address: UpstreamAddress;
  readonly target: string;
  readonly headers?: readonly string[];
  readonly timeoutMs: number;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

export interface PeerAnswer {
  readonly status: number;
  readonly body: Buffer;
  header(name: string): string | undefined;
}

export type AskPeer = (question: PeerQuestion) => Promise<PeerAnswer>;

export function createAskPeer(options: { readonly upstream: Upstream; readonly clock: Clock }): AskPeer {
  const own = ownHeaders(SELF);
  return async ({ address, target, headers = [], timeoutMs, bytesMax, signal }) => {
    const giveUp = new AbortController();
    const onAbort = (): void => giveUp.abort();
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const cancel = options.clock.after(timeoutMs, onAbort);
    try {
      const response = await options.upstream.send({
        address,
        method: "GET",
        target,
        headers: [...own, ...headers],
        body: undefined,
        contentLength: undefined,
        isUpgrade: false,
        signal: giveUp.signal,
      });
      const body = await collect(response.body, bytesMax);
      return { status: response.status, body, header: (name) => answerHeader(response, name) };
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  };
}

function collect(body: ResponseBody, bytesMax: number): Promise<Buffer> {
  if (body.kind === "none") return Promise.resolve(Buffer.alloc(0));
  if (body.kind === "bytes") {
    const whole = Buffer.concat(body.chunks);
    return whole.length > bytesMax ? Promise.reject(tooLong(bytesMax)) : Promise.resolve(whole);
  }
  if (body.kind === "upgrade") {
    body.open(undefined);
    return Promise.reject(new UpstreamError("malformed", "the peer changed the protocol unasked", { isSent: true }));
  }
  return new Promise((resolve, reject) => body.open(collectingSink(bytesMax, resolve, reject)));
}

function collectingSink(bytesMax: number, done: (body: Buffer) => void, failed: (error: Error) => void): StreamSink {
  const chunks: Buffer[] = [];
  const onClose: (() => void)[] = [];
  let length = 0;
  let isOver = false;
  const finish = (settle: () => void): void => {
    if (isOver) return;
    isOver = true;
    settle();
    for (const callback of onClose) callback();
  };
  return {
    write(frame: Frame) {
      length += frame.bytes.length;
      if (length > bytesMax) finish(() => failed(tooLong(bytesMax)));
      else chunks.push(frame.bytes);
      return true;
    },
    bufferedBytes: () => 0,
    onDrain: () => {},
    onClose: (callback) => {
      if (isOver) callback();
      else onClose.push(callback);
    },
    end: () => finish(() => done(Buffer.concat(chunks))),
    abort: () => finish(() => failed(new UpstreamError("reset", "the peer broke off its answer", { isSent: true }))),
  };
}

function tooLong(bytesMax: number): UpstreamError {
  return new UpstreamError("malformed", `the peer's answer is longer than ${bytesMax} bytes`, { isSent: true });
}
