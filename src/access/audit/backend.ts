/** The ports of the audit backend and its output. */
import type { AuditEvent } from "./event.ts";

export interface AuditBackend {
  /**
   * Serializes the event before it returns, so that later changes have no effect. Returns a promise if the request must
   * wait. False: the event is not stored, and the request must be rejected.
   */
  process(event: AuditEvent): boolean | Promise<boolean>;
  /** Writes all accepted events; later ones are dropped and counted. */
  close(): Promise<void>;
}

/** The destination of a log: a file or standard output. */
export interface AuditOutput {
  /**
   * The caller waits for the promise before it calls again. Resolves to the lines that were not written, with the
   * error; never rejects.
   */
  write(lines: readonly Buffer[]): Promise<readonly LostLine[]>;
  close(): Promise<void>;
}

export interface LostLine {
  /** Index into the given lines. */
  readonly index: number;
  readonly error: Error;
}
