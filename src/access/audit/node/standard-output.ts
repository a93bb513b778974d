/** Writes the audit log to standard output. If the reader of a pipe stalls, only the audit log waits. */
import { write } from "node:fs";
import { promisify } from "node:util";
import { sleep, type Clock } from "../../../base/clock.ts";
import type { AuditOutput, LostLine } from "../backend.ts";

const STANDARD_OUTPUT = 1;
/** Retry interval if a non-blocking pipe is full. */
const RETRY_MS = 10;

const writeTo = promisify(write);

export function standardOutput(clock: Clock): AuditOutput {
  return {
    async write(lines): Promise<readonly LostLine[]> {
      try {
        await writeAll(Buffer.concat(lines), clock);
        return [];
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        return lines.map((_, index) => ({ index, error }));
      }
    },
    close: () => Promise.resolve(),
  };
}

async function writeAll(bytes: Buffer, clock: Clock): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += (await writeTo(STANDARD_OUTPUT, bytes, written)).bytesWritten;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EAGAIN") throw thrown;
      await sleep(clock, RETRY_MS);
    }
  }
}
