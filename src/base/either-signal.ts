/**
 * A signal that aborts with the first of two. `AbortSignal.any` would leak: Node keeps its result alive for the whole
 * process while it has a listener, and with it a simulated server that has crashed and will never be stopped.
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
