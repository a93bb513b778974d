/** Stops a command on SIGINT or SIGTERM: the first signal shuts down gracefully, the second one exits at once. */

interface StopOnSignalsOptions {
  /** Subject of the failure message, such as "the server". */
  readonly what: string;
  readonly stop: () => Promise<unknown>;
  readonly onStopping?: () => void;
}

export function stopOnSignals({ what, stop, onStopping = () => {} }: StopOnSignalsOptions): void {
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      onStopping();
      stop().then(
        () => process.exit(0),
        (thrown: unknown) => {
          const reason = thrown instanceof Error ? thrown.message : String(thrown);
          process.stderr.write(`evenkeel: ${what} did not stop cleanly: ${reason}\n`);
          process.exit(1);
        },
      );
    });
  }
}
