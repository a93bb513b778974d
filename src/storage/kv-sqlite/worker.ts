/**
 * The entry point of the worker thread that owns the database. It handles one request at a time, and compacts in small
 * steps between requests.
 */
import { parentPort, type MessagePort } from "node:worker_threads";
import { assert } from "../../base/assert.ts";
import { compactedError, futureError } from "../kv-errors.ts";
import { Compactor } from "./compaction.ts";
import { closeDatabase, openDatabase, type Database } from "./database.ts";
import type {
  OpenReply,
  RangePageRequest,
  WorkerReply,
  WorkerRequest,
  WorkerError,
  WorkerFailure,
  WireWriteResult,
  WorkerOptions,
} from "./protocol.ts";
import { RowReader } from "./reads.ts";
import { RowWriter } from "./writes.ts";
import { FILES_CHECK_MS } from "./sqlite-limits.ts";
import { sqliteStorageError } from "./sqlite-errors.ts";

class Engine {
  readonly #database: Database;
  readonly #writer: RowWriter;
  readonly #reader: RowReader;
  readonly #compactor: Compactor;

  constructor(database: Database) {
    this.#database = database;
    this.#writer = new RowWriter(database.db);
    this.#reader = new RowReader(database.db);
    this.#compactor = new Compactor(database.db);
  }

  opened(): OpenReply {
    const leases = this.#database.db.prepare("SELECT id, ttl_seconds FROM lease ORDER BY id").all();
    return {
      kind: "opened",
      revision: this.#writer.revision,
      leases: leases.map((row) => ({ lease: String(row["id"]), ttlSeconds: Number(row["ttl_seconds"]) })),
    };
  }

  /** Throws if another process has replaced the database. */
  checkFiles(): void {
    if (this.#database.db.isOpen) this.#database.files.check();
  }

  /** Called after `checkFiles`. */
  handle(request: WorkerRequest): WorkerReply {
    const reply = this.#handle(request);
    if (request.kind !== "close") this.#database.files.note();
    return reply;
  }

  #handle(request: WorkerRequest): WorkerReply {
    switch (request.kind) {
      case "write":
        return {
          kind: "write",
          results: this.#writer.apply(request.writes, request.values),
          revision: this.#writer.revision,
        };
      case "range":
        return this.#reader.rangePage(request, this.#readPoint(request));
      case "history":
        if (request.fromRevision < this.#compactor.revision)
          throw compactedError(request.fromRevision, this.#compactor.revision);
        return this.#reader.historyPage(request, this.#writer.revision);
      case "compact":
        if (request.revision > this.#writer.revision) throw futureError(request.revision, this.#writer.revision);
        this.#compactor.mark(request.revision);
        this.compactSoon();
        return { kind: "done" };
      case "close":
        closeDatabase(this.#database);
        return { kind: "done" };
    }
  }

  #isCompacting = false;

  compactSoon(): void {
    if (this.#isCompacting || !this.#compactor.hasWork) return;
    this.#isCompacting = true;
    setImmediate(() => {
      this.#isCompacting = false;
      if (!this.#database.db.isOpen) return;
      try {
        this.checkFiles();
        this.#compactor.step();
        this.#database.files.note();
      } catch {
        // A failed compaction step loses nothing: the next compaction or the next start continues from here.
        return;
      }
      this.compactSoon();
    });
  }

  #readPoint(request: RangePageRequest): { revision: number; newestRevision: number } {
    const newestRevision = this.#writer.revision;
    const revision = request.revision ?? newestRevision;
    if (revision > newestRevision) throw futureError(revision, newestRevision);
    if (revision < this.#compactor.revision) throw compactedError(revision, this.#compactor.revision);
    return { revision, newestRevision };
  }
}

function transferable(reply: WorkerReply): ArrayBuffer[] {
  if (reply.kind === "range" || reply.kind === "history") return [reply.rows.values];
  if (reply.kind === "write") return reply.results.flatMap(currentBuffer);
  return [];
}

function currentBuffer(result: WireWriteResult): ArrayBuffer[] {
  return result.kind === "conflict" && result.current !== undefined ? [result.current.value.buffer as ArrayBuffer] : [];
}

function toWireError(thrown: unknown, directory: string): WorkerError {
  const { code, message, revision } = sqliteStorageError(thrown, directory);
  return { kind: "error", code, message, revision };
}

function run(port: MessagePort, options: WorkerOptions): void {
  let engine: Engine;
  try {
    engine = new Engine(openDatabase(options));
    port.postMessage(engine.opened());
  } catch (thrown) {
    port.postMessage(toWireError(thrown, options.directory));
    return;
  }
  engine.compactSoon();
  const fail = (thrown: unknown): void => {
    clearInterval(checking);
    port.postMessage({ kind: "failed", error: toWireError(thrown, options.directory) } satisfies WorkerFailure);
  };
  const isUsable = (): boolean => {
    try {
      engine.checkFiles();
      return true;
    } catch (thrown) {
      fail(thrown);
      return false;
    }
  };
  const checking = setInterval(isUsable, FILES_CHECK_MS).unref();
  port.on("message", (request: WorkerRequest) => {
    if (!isUsable()) return;
    let reply: WorkerReply;
    try {
      reply = engine.handle(request);
    } catch (thrown) {
      reply = toWireError(thrown, options.directory);
    }
    port.postMessage(reply, transferable(reply));
    if (request.kind !== "close") return;
    clearInterval(checking);
    port.close();
  });
}

assert(parentPort !== null, "this file runs as a worker thread");
const port = parentPort;
port.once("message", (options: WorkerOptions) => run(port, options));
