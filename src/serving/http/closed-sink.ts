/** Closes responses that no client will read. */
import type { ResponseBody, StreamSink } from "./message.ts";

/** The sink of a stream without a reader: the client has disconnected, or it asked for the headers only. */
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

/** Opens and closes a response that no client will read, so that its stream or upgrade can free its resources. */
export function discardResponse({ body }: { readonly body: ResponseBody }): void {
  if (body.kind === "stream") body.open(closedSink());
  if (body.kind === "upgrade") body.open(undefined);
}
