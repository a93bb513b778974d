/**
 * Delivers the batches of a watch in order, although some of them wait for the decryption of data keys by another
 * process. A batch that need not wait is delivered synchronously, unless an earlier batch is waiting.
 */
import { messageOf } from "../../base/within.ts";
import { StorageError, type KvEvent, type Watching, type WatchSink } from "../kv.ts";

/**
 * Maximum number of batches and reports that wait behind a batch. Above it, the watch ends, and its reader reads the
 * store from the start.
 */
const WAITING_MAX = 20_000;

type Batch = readonly KvEvent[];

/** `open` returns a promise, which does not reject, for a batch that must wait. */
export function inOrder(
  sink: WatchSink,
  open: (batch: Batch) => Batch | Promise<Batch>,
  start: (through: WatchSink) => Watching,
): Watching {
  const steps: (() => void)[] = [];
  let isWaiting = false;
  let isOver = false;
  const deliver = (opened: Batch | Promise<Batch>): void => {
    if (!(opened instanceof Promise)) return sink.events(opened);
    isWaiting = true;
    void opened.then((late) => {
      isWaiting = false;
      proceed(() => sink.events(late));
    });
  };
  const proceed = (first: () => void): void => {
    try {
      for (let step: (() => void) | undefined = first; step !== undefined && !isOver; step = next()) step();
    } catch (thrown) {
      end(new StorageError("unavailable", `the watch failed: ${messageOf(thrown)}`, { cause: thrown }));
    }
  };
  const next = (): (() => void) | undefined => (isWaiting ? undefined : steps.shift());
  const inTurn = (step: () => void): void => {
    if (!isWaiting && steps.length === 0) return step();
    if (steps.push(step) > WAITING_MAX)
      end(new StorageError("overloaded", "too many changes wait for the decryption of data keys"));
  };
  const end = (error: StorageError): void => {
    watching.close();
    close();
    sink.closed(error);
  };
  const close = (): void => {
    isOver = true;
    steps.length = 0;
  };
  const watching = start({
    events(batch) {
      // Opened at once, so that batches with different data keys wait for the other process together.
      const opened = open(batch);
      inTurn(() => deliver(opened));
    },
    progress: (revision) => inTurn(() => sink.progress(revision)),
    interrupted: (isInterrupted) => inTurn(() => sink.interrupted(isInterrupted)),
    closed(error) {
      close();
      sink.closed(error);
    },
  });
  return {
    close() {
      close();
      watching.close();
    },
  };
}
