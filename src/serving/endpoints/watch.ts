/** Serves watches: validates the options, finds the start revision and opens the stream. */
import { randomInteger } from "../../base/random.ts";
import type { Counter } from "../../base/metrics.ts";
import { acceptsGzip, gzipHeaders } from "../http/accepts-gzip.ts";
import { GzipSink } from "../http/gzip-sink.ts";
import { headerValue, type ApiResponse } from "../http/message.ts";
import type { Query } from "../http/query.ts";
import { UNCACHED } from "../http/respond.ts";
import { isWebSocketRequest } from "../http/web-socket.ts";
import { badRequest, isReason } from "../../meta/status-error.ts";
import type { ProtobufTables } from "../../objects/protobuf/decode.ts";
import type { RegistryContext } from "../registry/context.ts";
import type { ServedResource } from "../registry/resource.ts";
import { toStatusError } from "../registry/storage-errors.ts";
import { startWatch, type ObjectWatchRequest } from "../registry/watch.ts";
import type { EndpointCall } from "./endpoint.ts";
import { freshnessOf } from "./get.ts";
import { WATCH_TIMEOUT_MS_MIN } from "./endpoint-limits.ts";
import {
  invalidOptions,
  listOptionErrors,
  listOptions,
  revisionOf,
  selectorOptions,
  type ListParameters,
} from "./options.ts";
import type { Renderer } from "./render/renderer.ts";
import { errorFrame, WatchStream, type OpenWatches } from "./watch-stream.ts";
import { requiredValue, type FieldRequirement } from "../../meta/field-selector.ts";

export interface WatchDependencies {
  readonly protobuf: () => ProtobufTables;
  readonly context: RegistryContext;
  readonly open: OpenWatches;
  readonly encodings: Counter;
  readonly deliveries: (served: ServedResource) => Counter;
}

export async function watchEndpoint(dependencies: WatchDependencies, call: EndpointCall): Promise<ApiResponse> {
  const { context, served, renderer, request } = call;
  const { open } = dependencies;
  const selectors = selectorOptions(request.query, served);
  const options = listOptions(request.query);
  const errors = listOptionErrors(options, "watch");
  if (errors.length > 0) throw invalidOptions("ListOptions", errors);
  const { namespace, name } = request.info;
  const fields = fieldsOfName(name, selectors.fields);
  const watchRequest: ObjectWatchRequest = { labels: selectors.labels, fields, namespace, start: watchStart(options) };
  try {
    const start = await startWatch(context, served, watchRequest);
    const streamOptions = {
      clock: context.clock,
      served,
      renderer,
      start,
      selectors: selectorsKey(request.query, fields),
      timeoutMs: timeoutMs(context, options),
      bookmarks: options.allowWatchBookmarks,
      marksInitialEnd: watchRequest.start.kind === "state" && watchRequest.start.showsState,
      encodings: dependencies.encodings,
      deliveries: dependencies.deliveries(served),
    };
    const response = streamResponse(renderer, (sink) => new WatchStream(streamOptions, sink).run(open));
    return isCompressed(call, options) ? compressed(response) : response;
  } catch (thrown) {
    const error = toStatusError(thrown);
    // As kubernetes: an expired resourceVersion is reported as an ERROR event inside the stream, where clients expect
    // it.
    if (!isReason(error, "Expired")) throw error;
    return streamResponse(renderer, (sink) => {
      sink.write(errorFrame(error, renderer.format));
      sink.end();
    });
  }
}

/** Identifies the selectors of a watch. */
function selectorsKey(query: Query, fields: readonly FieldRequirement[]): string {
  return JSON.stringify([query.get("labelSelector") ?? "", fields]);
}

function watchStart(options: ListParameters): ObjectWatchRequest["start"] {
  const revision = revisionOf(options.resourceVersion, "");
  const showsState = options.sendInitialEvents ?? (revision === undefined || revision === 0);
  if (showsState || revision === undefined || revision === 0)
    return { kind: "state", freshness: freshnessOf(options.resourceVersion), showsState };
  return { kind: "after", revision };
}

function timeoutMs(context: RegistryContext, options: ListParameters): number {
  if (options.timeoutSeconds !== undefined && options.timeoutSeconds > 0) return options.timeoutSeconds * 1000;
  const { watchTimeoutMsMin: minMs = WATCH_TIMEOUT_MS_MIN } = context;
  return minMs + randomInteger(context.random, minMs);
}

/**
 * As kubernetes: only a watch that sends the initial objects is compressed, because other watches send small events. A
 * WebSocket carries messages, not the body of the response.
 */
function isCompressed({ served, request }: EndpointCall, options: ListParameters): boolean {
  if (options.sendInitialEvents !== true || !options.allowWatchBookmarks) return false;
  if (!served.gates.isOn("WatchListCompression") || isWebSocketRequest(request)) return false;
  return acceptsGzip(headerValue(request.headers, "accept-encoding"));
}

function compressed({ status, headers, body }: ApiResponse): ApiResponse {
  if (body.kind !== "stream") return { status, headers, body };
  const open: StreamBody["open"] = (sink) => body.open(new GzipSink(sink));
  return { status, headers: gzipHeaders(headers), body: { kind: "stream", open } };
}

type StreamBody = Extract<ApiResponse["body"], { kind: "stream" }>;

function streamResponse({ format }: Renderer, open: StreamBody["open"]): ApiResponse {
  return {
    status: 200,
    headers: { "content-type": format.streamContentType, "cache-control": UNCACHED },
    body: { kind: "stream", open },
  };
}

/**
 * As kubernetes: a path with a name selects that object. If there is a field selector too, it must not require another
 * name.
 */
function fieldsOfName(name: string, fields: readonly FieldRequirement[]): readonly FieldRequirement[] {
  if (name === "") return fields;
  if (fields.length === 0) return [{ field: "metadata.name", value: name, negated: false }];
  if (requiredValue(fields, "metadata.name") !== name)
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  return fields;
}
