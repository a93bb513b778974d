/** Reads the whole response body of another server within a size limit. */
import type { StreamFrame, ResponseBody, StreamSink } from "./message.ts";
import { UpstreamError } from "./upstream.ts";

/** Rejects with an `UpstreamError` if the body is too long or broken off, or if the response is an upgrade. */
export function wholeBody(body: ResponseBody, bytesMax: number): Promise<Buffer> {
  if (body.kind === "none") return Promise.resolve(Buffer.alloc(0));
  if (body.kind === "bytes") {
    const whole = Buffer.concat(body.chunks);
    return whole.length > bytesMax ? Promise.reject(tooLong(bytesMax)) : Promise.resolve(whole);
  }
  if (body.kind === "upgrade") {
    body.open(undefined);
    return Promise.reject(
      new UpstreamError("malformed", "the server switched protocols without being asked", { isSent: true }),
    );
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
    write({ bytes }: StreamFrame) {
      length += bytes.length;
      if (length > bytesMax) finish(() => failed(tooLong(bytesMax)));
      else chunks.push(bytes);
      return true;
    },
    bufferedBytes: () => 0,
    onDrain: () => undefined,
    onClose(callback) {
      if (isOver) callback();
      else onClose.push(callback);
    },
    end: () => finish(() => done(Buffer.concat(chunks))),
    abort: () =>
      finish(() => failed(new UpstreamError("reset", "the server broke off its response", { isSent: true }))),
  };
}

function tooLong(bytesMax: number): UpstreamError {
  return new UpstreamError("malformed", `the response is longer than ${bytesMax} bytes`, { isSent: true });
}
