/** Where events go. */
import type { AuditEvent } from "./event.ts";

export interface AuditBackend {
  /**
   * Takes an event; whatever of it may change later has been read when this returns. A promise where the request waits for
   * it. False: it is not stored, and the request must not go on.
   */
  process(event: AuditEvent): boolean | Promise<boolean>;
  /** Everything taken is written; what comes later is lost, and counted. */
  close(): Promise<void>;
}

/** One end of a log: a file, or standard output. */
export interface AuditOutput {
  /** Called again only when it has settled. Those lines that were not written, and why; it never rejects. */
  write(lines: readonly Buffer[]): Promise<readonly LostLine[]>;
  close(): Promise<void>;
}

export interface LostLine {
  /** Of the lines given. */
  readonly index: number;
  readonly error: Error;
}
