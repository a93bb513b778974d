/**
 * The audit backend that writes events as lines of a log. It keeps the order of the events, writes many lines at once
 * without blocking the event loop, and limits the bytes that wait to be written. Write errors are logged and counted;
 * they affect requests only in blocking-strict mode.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { AuditBackend, AuditOutput, LostLine } from "./backend.ts";
import { Batches, type BatchOptions } from "./batches.ts";
import { jsonLine, legacyLine, type AuditEvent, type LogFormat } from "./event.ts";
import type { AuditMetrics } from "./metrics.ts";
import { isAtLeast } from "./policy.ts";
import { TRUNCATED_ANNOTATION } from "./request-trail.ts";

type LogMode = "batch" | "blocking" | "blocking-strict";

export interface LogOptions {
  readonly format: LogFormat;
  readonly mode: LogMode;
  readonly batch: BatchOptions;
  /** Maximum size of an event in bytes; undefined means no limit. */
  readonly eventBytesMax: number | undefined;
}

export interface LogBackendParts extends LogOptions {
  readonly output: AuditOutput;
  readonly metrics: Pick<AuditMetrics, "errors">;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Maximum number of bytes that wait to be written, in every mode. It limits the memory that is used if the disk
   * hangs. Default 64 MiB.
   */
  readonly waitingBytesMax?: number;
}

const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** The share of `waitingBytesMax` that events with objects may use. The rest is reserved for events without objects. */
const OBJECTS_SHARE = 0.75;
/**
 * Maximum number of bytes per write. Large writes are efficient, because each write takes at least one iteration of the
 * event loop.
 */
const WRITE_BYTES_MAX = 16 * 1024 * 1024;

interface Waiting {
  readonly line: Buffer;
  readonly done: ((isStored: boolean) => void) | undefined;
}

export function createLogBackend(parts: LogBackendParts): AuditBackend {
  return new LogBackend(parts);
}

class LogBackend implements AuditBackend {
  readonly #parts: LogBackendParts;
  readonly #batches: Batches<Waiting> | undefined;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #isClosed = false;
  /** Events dropped since the last successful write. */
  #lost = 0;

  constructor(parts: LogBackendParts) {
    this.#parts = parts;
    this.#batches = parts.mode === "batch" ? new Batches(parts.batch, parts.clock) : undefined;
  }

  process(event: AuditEvent): boolean | Promise<boolean> {
    const { mode } = this.#parts;
    const line = this.#fittingLineOf(event);
    if (line === undefined) return true;
    const rejection = this.#rejection(line.length);
    if (rejection !== undefined) {
      this.#lose("buffered", rejection);
      return mode !== "blocking-strict";
    }
    this.#waitingBytes += line.length;
    if (mode === "batch") {
      this.#waiting.push({ line, done: undefined });
      if (this.#batches!.isDue(this.#waiting.length, () => this.#write())) this.#write();
      return true;
    }
    return new Promise((resolve) => {
      const done = (isStored: boolean): void => resolve(isStored || mode === "blocking");
      this.#waiting.push({ line, done });
      this.#write();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#batches?.hurry();
    this.#write();
    while (this.#writing !== undefined) await this.#writing;
    await this.#parts.output.close();
  }

  /**
   * Omits the objects of the event while many bytes are waiting, so that large objects do not displace other events.
   */
  #fittingLineOf(event: AuditEvent): Buffer | undefined {
    const line = this.#lineOf(event);
    const { waitingBytesMax = WAITING_BYTES_MAX } = this.#parts;
    const isCrowded = line !== undefined && this.#waitingBytes + line.length > waitingBytesMax * OBJECTS_SHARE;
    return isCrowded && hasObjects(event) ? this.#lineOf(withoutObjects(event)) : line;
  }

  /**
   * As kubernetes plugin/pkg/audit/truncate: omits the objects of an event that is too large, and drops the event if it
   * is still too large.
   */
  #lineOf(event: AuditEvent): Buffer | undefined {
    const { format, eventBytesMax } = this.#parts;
    const lineOf = format === "json" ? jsonLine : legacyLine;
    if (eventBytesMax === undefined) return Buffer.from(lineOf(event));
    const whole = jsonLine(event);
    if (Buffer.byteLength(whole) <= eventBytesMax) return Buffer.from(format === "json" ? whole : legacyLine(event));
    const shorter = isAtLeast(event.level, "Request") ? withoutObjects(event) : event;
    if (Buffer.byteLength(jsonLine(shorter)) <= eventBytesMax) return Buffer.from(lineOf(shorter));
    this.#lose("truncate", "event is too large even after truncating");
    return undefined;
  }

  #rejection(bytes: number): string | undefined {
    if (this.#isClosed) return "audit backend shut down";
    const { batch, waitingBytesMax = WAITING_BYTES_MAX } = this.#parts;
    const isFull = this.#batches !== undefined && this.#waiting.length >= batch.bufferSize;
    return isFull || this.#waitingBytes + bytes > waitingBytesMax ? "audit buffer queue blocked" : undefined;
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // Events may have arrived during this write.
      if (this.#waiting.length > 0 && (this.#batches?.isDue(this.#waiting.length, () => this.#write()) ?? true))
        this.#write();
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#batches === undefined ? this.#waiting : this.#batches.take(this.#waiting);
      this.#waiting = this.#waiting.slice(batch.length);
      await this.#batches?.admitted();
      for (const part of inParts(batch)) await this.#writePart(part);
      if (!(this.#batches?.isDue(this.#waiting.length, () => this.#write()) ?? true)) return;
    }
  }

  async #writePart(part: readonly Waiting[]): Promise<void> {
    const lost = await this.#parts.output
      .write(part.map(({ line }) => line))
      .catch((thrown: unknown) => allLost(part.length, thrown));
    this.#reportLost(lost);
    const lostIndexes = new Set(lost.map(({ index }) => index));
    for (const [index, { line, done }] of part.entries()) {
      this.#waitingBytes -= line.length;
      done?.(!lostIndexes.has(index));
    }
  }

  /** Logs once when the log starts to fail, and once when it recovers. */
  #reportLost(lost: readonly LostLine[]): void {
    for (const { error } of lost) this.#lose("log", error.message);
    if (this.#lost === 0 || lost.length > 0) return;
    this.#parts.log.warn("audit log recovered", { eventsLost: this.#lost });
    this.#lost = 0;
  }

  #lose(plugin: string, why: string): void {
    this.#parts.metrics.errors.with(plugin).inc();
    if (plugin === "truncate") return this.#parts.log.warn("audit event dropped", { why });
    if (this.#lost++ === 0) this.#parts.log.error("audit events are being dropped", { plugin, why });
  }
}

function hasObjects({ requestObject, responseObject }: AuditEvent): boolean {
  return requestObject !== undefined || responseObject !== undefined;
}

function withoutObjects(event: AuditEvent): AuditEvent {
  const annotations = new Map([...event.annotations, [TRUNCATED_ANNOTATION, "true"]]);
  return { ...event, requestObject: undefined, responseObject: undefined, annotations };
}

function allLost(count: number, thrown: unknown): LostLine[] {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return Array.from({ length: count }, (_, index) => ({ index, error }));
}

function* inParts(batch: readonly Waiting[]): Generator<readonly Waiting[], void, undefined> {
  let start = 0;
  let bytes = 0;
  for (const [index, { line }] of batch.entries()) {
    if (bytes > 0 && bytes + line.length > WRITE_BYTES_MAX) {
      yield batch.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += line.length;
  }
  if (start < batch.length) yield batch.slice(start);
}
