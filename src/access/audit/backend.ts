/** Ports of auditing: the backend that receives events, and the output that the log backend writes to. */
import type { AuditEvent } from "./event.ts";

export interface AuditBackend {
  /**
   * Serializes the event before it returns, so that later changes of the event have no effect. Returns a promise if the
   * request must wait until the event is written. The result is false if the event is not stored and the request must
   * therefore be rejected.
   */
  process(event: AuditEvent): boolean | Promise<boolean>;
  /** Writes all accepted events. Events that arrive later are dropped and counted. */
  close(): Promise<void>;
}

/** The destination of the audit log: a file or standard output. */
export interface AuditOutput {
  /**
   * Resolves to the lines that were not written, each with its error; never rejects. The caller waits for the promise
   * before the next call.
   */
  write(lines: readonly Buffer[]): Promise<readonly LostLine[]>;
  close(): Promise<void>;
}

export interface LostLine {
  /** Index of the line in the argument of `write`. */
  readonly index: number;
  readonly error: Error;
}
