/**
 * Measures the CPU time of all threads of this process, including garbage collection. Other processes on the machine do
 * not affect it.
 */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
