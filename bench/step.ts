/** Reports on standard error which step is done, and its duration. */

export async function step<Value>(title: string, work: () => Promise<Value>): Promise<Value> {
  const started = performance.now();
  const value = await work();
  printLine(`${title}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return value;
}

export function printLine(line: string): void {
  process.stderr.write(`${line}\n`);
}
