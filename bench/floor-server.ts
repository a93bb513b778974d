/**
 * The floor: a plain Node server that returns the same bytes as our server over TLS, without any lookup or decision. It
 * receives these responses, and the event for watchers, over IPC before the measurements. A write to `/emit` makes it
 * send the event to all watchers.
 *
 * Of a write, the floor does what no API server can omit: it parses the body, for a patch also the object, assigns a UID
 * and a time, lists the fields that the writer manages, serializes the object, commits it durably in a worker thread, in
 * one transaction with the writes that arrive meanwhile, and keeps its bytes for the reads. It checks nothing, and sets
 * no defaults.
 */
import { randomUUID } from "node:crypto";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

export interface FloorResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** The bytes of the body, one Latin-1 character per byte. */
  readonly body: string;
  /**
   * The work for each write: nothing by default; `parse` makes the stored object; `commit` also commits it to a SQLite
   * database and keeps its bytes, which `/stored` lists.
   */
  readonly work?: "parse" | "commit";
}

export type FloorMessage =
  | {
      readonly kind: "start";
      readonly cert: string;
      readonly key: string;
      readonly port: number;
      /** If set, clients must present a certificate of this CA. */
      readonly clientCa?: string;
    }
  | { readonly kind: "answer"; readonly path: string; readonly answer: FloorResponse }
  | { readonly kind: "event"; readonly event: string };

export interface FloorPorts {
  readonly http1: number;
  readonly http2: number;
}

interface Prepared {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  readonly work: FloorResponse["work"];
  /** The parsed body, if a write stores it. */
  readonly object: JsonValues;
}

const KEEP_ALIVE_MS = 600_000;
const READY: Prepared = {
  status: 200,
  headers: { "content-type": "text/plain", "content-length": "2" },
  body: Buffer.from("ok"),
  work: undefined,
  object: {},
};
const responses = new Map<string, Prepared>([
  ["readyz", READY],
  ["emit", READY],
]);
const watching = new Set<ServerResponse | ServerHttp2Stream>();
let event: Buffer = Buffer.alloc(0);

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const name = request.url!.split("/", 2)[1]!;
  if (name === "watch") {
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
    watching.add(response);
    response.on("close", () => watching.delete(response));
    return;
  }
  if (request.method === "GET") return name === "stored" ? sendStored(response) : sendResponse(name, response);
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    if (name === "emit") for (const watcher of watching) watcher.write(event);
    const { work, body: text, object } = responses.get(name)!;
    if (work === undefined) return sendResponse(name, response);
    const sent = JSON.parse(body.toString()) as JsonValues;
    const existing = request.method === "PATCH" ? (JSON.parse(text.toString()) as JsonValues) : object;
    const value = Buffer.from(JSON.stringify(storedObject(existing, sent)));
    if (work === "parse") return sendResponse(name, response);
    commit(value, () => {
      keptValues.push(value);
      sendResponse(name, response);
    });
  });
}

type JsonValues = { readonly [name: string]: unknown };

const keptValues: Buffer[] = [];

/** The object of the response with a UID, a time, and the fields that the body sets. */
function storedObject(object: JsonValues, sent: JsonValues): JsonValues {
  const time = new Date().toISOString();
  const managedFields = [
    { manager: "floor", operation: "Update", apiVersion: "v1", time, fieldsType: "FieldsV1", fieldsV1: fieldsOf(sent) },
  ];
  const metadata = object["metadata"] as JsonValues;
  return { ...object, metadata: { ...metadata, uid: randomUUID(), creationTimestamp: time, managedFields } };
}

function fieldsOf(values: JsonValues): JsonValues {
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(values).sort()) {
    const value = values[name];
    fields[`f:${name}`] = typeof value === "object" && value !== null ? fieldsOf(value as JsonValues) : {};
  }
  return fields;
}

function sendStored(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.cork();
  for (const value of keptValues) response.write(value);
  response.uncork();
  response.end();
}

/** The writes that wait for the next transaction, and what to do after it. */
let waiting: { readonly value: Buffer; readonly onCommitted: () => void }[] = [];
let isCommitting = false;
let store: Worker;

function commit(value: Buffer, onCommitted: () => void): void {
  waiting.push({ value, onCommitted });
  if (isCommitting) return;
  isCommitting = true;
  setImmediate(sendBatch);
}

function sendBatch(): void {
  const batch = waiting;
  waiting = [];
  const values = Uint8Array.from(Buffer.concat(batch.map(({ value }) => value)));
  const lengths = batch.map(({ value }) => value.length);
  store.once("message", () => {
    for (const { onCommitted } of batch) onCommitted();
    if (waiting.length === 0) isCommitting = false;
    else setImmediate(sendBatch);
  });
  store.postMessage({ values, lengths }, [values.buffer]);
}

/** The worker: commits each batch with a full sync, and reports when it is durable. */
function runStore(port: NonNullable<typeof parentPort>): void {
  const db = new DatabaseSync(join(dirname(fileURLToPath(import.meta.url)), "floor.db"));
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000");
  db.exec("CREATE TABLE log (rev INTEGER PRIMARY KEY, value BLOB NOT NULL) STRICT");
  const [begin, insert, end] = ["BEGIN", "INSERT INTO log (value) VALUES (?)", "COMMIT"].map((sql) => db.prepare(sql));
  port.on("message", ({ values, lengths }: { values: Uint8Array; lengths: readonly number[] }) => {
    begin!.run();
    let at = 0;
    for (const length of lengths) {
      insert!.run(values.subarray(at, at + length));
      at += length;
    }
    end!.run();
    port.postMessage("committed");
  });
}

function sendResponse(name: string, response: ServerResponse): void {
  const { status, headers, body } = responses.get(name)!;
  response.writeHead(status, headers);
  response.end(body);
}

/** The storage thread also costs memory, and time at the start, if nothing is ever stored. */
function start({ cert, key, port, clientCa }: Extract<FloorMessage, { kind: "start" }>): void {
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  const http1 = createServer({ cert, key, noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS, ...clients }, onRequest);
  store = new Worker(new URL(import.meta.url));
  const http2 = createSecureServer({ cert, key });
  http2.on("stream", (stream, requestHeaders) => {
    const name = requestHeaders[":path"]!.split("/", 2)[1]!;
    if (name === "watch") {
      stream.respond({ ":status": 200, "content-type": "application/json" });
      watching.add(stream);
      stream.on("error", () => undefined);
      stream.on("close", () => watching.delete(stream));
      return;
    }
    const { status, headers, body } = responses.get(name)!;
    stream.respond({ ":status": status, ...headers });
    stream.end(body);
  });
  http2.listen(0, "127.0.0.1", () => {
    http1.listen(port, "127.0.0.1", () => {
      process.send!({
        http1: (http1.address() as AddressInfo).port,
        http2: (http2.address() as AddressInfo).port,
      } satisfies FloorPorts);
    });
  });
}

function onMessage(message: FloorMessage): void {
  if (message.kind === "start") return start(message);
  if (message.kind === "event") event = Buffer.from(message.event, "latin1");
  else {
    const { status, headers, body: text, work } = message.answer;
    const body = Buffer.from(text, "latin1");
    const object = work === undefined ? {} : (JSON.parse(body.toString()) as JsonValues);
    responses.set(message.path, { status, headers: Object.fromEntries(headers), body, work, object });
  }
  process.send!("done");
}

if (isMainThread) {
  process.on("message", onMessage);
  process.on("disconnect", () => process.exit(0));
} else if (parentPort !== null) {
  runStore(parentPort);
}
