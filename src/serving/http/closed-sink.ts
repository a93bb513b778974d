import type { ResponseBody, StreamSink } from "./message.ts";

/** What a stream without a reader writes to: the client has gone, or asked for the headers only. */
export function closedSink(): StreamSink {
  return {
    write: () => true,
    bufferedBytes: () => 0,
    onDrain: () => undefined,
    onClose: (callback) => queueMicrotask(callback),
    end: () => undefined,
    abort: () => undefined,
  };
}

/** For an answer that nobody will read: what it holds open must hear of that. */
export function discardAnswer({ body }: { readonly body: ResponseBody }): void {
  if (body.kind === "stream") body.open(closedSink());
  if (body.kind === "upgrade") body.open(undefined);
}
