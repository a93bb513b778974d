/** Provides values that are reloaded when their files are replaced while the server runs. */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";

export interface Reloading<T> {
  /** The current value. Callers must read it for every use, because it can change. */
  readonly current: T;
  /** Calls the listener on each change. */
  onChange(listener: (value: T) => void): void;
}

export interface ReloadingFiles<T> extends Reloading<T> {
  /** Reads the files, and replaces the value if the files have changed and are valid. Never throws. */
  poll(): void;
}

interface ReloadingFilesOptions<T> {
  /** The name of the value for the log, such as "client CA bundle". */
  readonly valueName: string;
  /** Files that are read together as one value. */
  readonly files: readonly string[];
  /** Returns the whole content of a file; throws if it cannot be read. */
  readonly read: (file: string) => string;
  /**
   * Parses the contents. Throws an Error if they are invalid; its message must not quote them, because they may be
   * secret.
   */
  readonly parse: (contents: readonly string[]) => T;
  readonly log: Pick<Log, "info" | "warn">;
}

/** A value that never changes, for example because it does not come from a file. */
export function fixedValue<T>(value: T): Reloading<T> {
  return { current: value, onChange: () => undefined };
}

/** Throws if the files are invalid at startup. If they become invalid later, the last valid value stays in use. */
export function reloadingFiles<T>(options: ReloadingFilesOptions<T>): ReloadingFiles<T> {
  const { valueName, files, read, parse, log } = options;
  let seen = files.map(read);
  let current = parse(seen);
  /** The last logged error. It is logged again only after the files could be read in the meantime. */
  let lastError: string | undefined;
  const listeners: ((value: T) => void)[] = [];
  const take = (contents: readonly string[]): void => {
    seen = [...contents];
    current = parse(contents);
    log.info(`${valueName} reloaded`, { files });
    for (const listener of listeners) listener(current);
  };
  const warnOnce = (thrown: unknown): void => {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    if (error === lastError) return;
    lastError = error;
    log.warn(`failed to reload ${valueName}; the previous value stays in use`, { files, error });
  };
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    poll() {
      try {
        const contents = files.map(read);
        lastError = undefined;
        if (contents.some((content, index) => content !== seen[index])) take(contents);
      } catch (thrown) {
        warnOnce(thrown);
      }
    },
  };
}

/** Interval at which the files are polled. DIFFERS: kubernetes watches the files and also polls them every minute. */
const POLL_MS = 10_000;

/** Polls the files until the signal aborts. */
export async function pollFiles(
  clock: Clock,
  files: readonly Pick<ReloadingFiles<unknown>, "poll">[],
  signal: AbortSignal,
): Promise<void> {
  if (files.length === 0) return;
  while (await sleep(clock, POLL_MS, signal)) for (const file of files) file.poll();
}
