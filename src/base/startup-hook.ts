/** Start-up hooks: steps that each run once, in order, before /readyz passes. */

export interface StartupHook {
  /** Shown by /readyz after "poststarthook/". */
  readonly name: string;
  /** Further checks under which kube-apiserver reports the same work. */
  readonly also?: readonly string[];
  run(signal: AbortSignal): Promise<void>;
}

export const HOOK_PREFIX = "poststarthook/";

/** The hooks, the first of them preceded by work that has no check of its own. */
export function runBefore(
  work: (signal: AbortSignal) => Promise<void>,
  [first, ...rest]: readonly StartupHook[],
): StartupHook[] {
  if (first === undefined) return [];
  return [{ ...first, run: (signal) => work(signal).then(() => first.run(signal)) }, ...rest];
}
