/** Startup hooks: steps that each run once, in order, before /readyz passes. */

export interface StartupHook {
  /** The name that /readyz shows after "poststarthook/". */
  readonly name: string;
  /** Names of further checks of kube-apiserver that report the same work. */
  readonly also?: readonly string[];
  run(signal: AbortSignal): Promise<void>;
}

export const HOOK_PREFIX = "poststarthook/";

/**
 * Returns the same hooks, except that the first one runs `work` before its own step; `work` has no check of its own.
 */
export function runBefore(
  work: (signal: AbortSignal) => Promise<void>,
  [first, ...rest]: readonly StartupHook[],
): StartupHook[] {
  if (first === undefined) return [];
  return [{ ...first, run: (signal) => work(signal).then(() => first.run(signal)) }, ...rest];
}
