/** Compresses large response bodies with gzip. */
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";

import { acceptsGzip } from "../accepts-gzip.ts";
import { type ApiResponse, headerValue, type RequestHeaders } from "../message.ts";
import { joinedGroups, totalBytes } from "./chunks.ts";

/**
 * As kubernetes responsewriters/writers.go#defaultGzipThresholdBytes: compressing a smaller body costs more than it
 * saves.
 */
const GZIP_BYTES_MIN = 128 * 1024;

/** Size to which small chunks are joined, because each write to zlib is a round trip to the thread pool. */
const INPUT_BYTES = 256 * 1024;

export function wantsGzip(
  request: { readonly method: string; readonly headers: RequestHeaders },
  response: ApiResponse,
): boolean {
  return (
    response.body.kind === "bytes" &&
    response.status === 200 &&
    request.method !== "HEAD" &&
    totalBytes(response.body.chunks) >= GZIP_BYTES_MIN &&
    response.headers["content-encoding"] === undefined &&
    acceptsGzip(headerValue(request.headers, "accept-encoding"))
  );
}

/**
 * Compresses the chunks in the thread pool, as fast as the consumer reads. If the consumer leaves its loop early, all
 * resources are freed.
 */
export function gzipped(chunks: readonly Buffer[]): AsyncIterable<Buffer> {
  const gzip = createGzip({ level: 1, chunkSize: 64 * 1024 });
  // The callback can ignore errors: the source cannot fail, and the consumer's loop receives errors of gzip.
  pipeline(Readable.from(joinedGroups(chunks, INPUT_BYTES)), gzip, () => undefined);
  return gzip;
}
