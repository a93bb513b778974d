/** Values made of files that are replaced while the server runs. */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";

export interface Reloading<T> {
  /** To be read anew for every use. */
  readonly current: T;
  /** Told of every later value. */
  onChange(listener: (value: T) => void): void;
}

export interface ReloadingFiles<T> extends Reloading<T> {
  /** Reads the files; takes what they say when that is new and can be used. Never throws. */
  look(): void;
}

interface ReloadingFilesOptions<T> {
  /** Such as "client CA": for the log. */
  readonly what: string;
  /** They belong together: what one says counts only with what the others say. */
  readonly files: readonly string[];
  /** The whole content of a file; throws when it cannot be read. */
  readonly read: (file: string) => string;
  /** Throws an Error for what cannot be used; its message must not show what the files say. */
  readonly parse: (contents: readonly string[]) => T;
  readonly log: Pick<Log, "info" | "warn">;
}

/** For what no file says. */
export function fixedValue<T>(value: T): Reloading<T> {
  return { current: value, onChange: () => undefined };
}

/** Throws for files that cannot be used at first; later the last ones that could be stay in use. */
export function reloadingFiles<T>(options: ReloadingFilesOptions<T>): ReloadingFiles<T> {
  const { what, files, read, parse, log } = options;
  let seen = files.map(read);
  let current = parse(seen);
  /** Said once, and again only after something has changed. */
  let complaint: string | undefined;
  const listeners: ((value: T) => void)[] = [];
  const take = (contents: readonly string[]): void => {
    seen = [...contents];
    current = parse(contents);
    log.info(`the ${what} was read again`, { files });
    for (const listener of listeners) listener(current);
  };
  const complain = (thrown: unknown): void => {
    const error = thrown instanceof Error ? thrown.message : String(thrown);
    if (error === complaint) return;
    complaint = error;
    log.warn(`the ${what} cannot be used; what was read before stays in use`, { files, error });
  };
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    look() {
      try {
        const contents = files.map(read);
        complaint = undefined;
        if (contents.some((content, index) => content !== seen[index])) take(contents);
      } catch (thrown) {
        complain(thrown);
      }
    },
  };
}

/** kubernetes is told of changes, and looks every minute besides. */
const LOOK_MS = 10_000;

/** Looks again and again until the signal aborts. */
export async function followFiles(
  clock: Clock,
  files: readonly Pick<ReloadingFiles<unknown>, "look">[],
  signal: AbortSignal,
): Promise<void> {
  if (files.length === 0) return;
  while (await sleep(clock, LOOK_MS, signal)) for (const file of files) file.look();
}
