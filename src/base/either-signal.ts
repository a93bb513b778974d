/**
 * Creates a signal that aborts when the first of two signals aborts. `AbortSignal.any` would leak memory: while its
 * result has a listener, Node keeps the result alive for the whole process, and with it a simulated server that has
 * crashed and will never be stopped.
 */
export function eitherSignal(left: AbortSignal, right: AbortSignal): AbortSignal {
  const either = new AbortController();
  const abort = (): void => {
    left.removeEventListener("abort", abort);
    right.removeEventListener("abort", abort);
    either.abort(left.aborted ? left.reason : right.reason);
  };
  left.addEventListener("abort", abort);
  right.addEventListener("abort", abort);
  if (left.aborted || right.aborted) abort();
  return either.signal;
}
