/** Resource usage of a process, read from /proc. */
import { readFileSync } from "node:fs";

/** Length of a tick (1 / USER_HZ): Linux reports 100 ticks per second on every architecture that Node supports. */
const MS_PER_TICK = 10;
const BYTES_PER_KIB = 1024;

/** CPU time of all threads so far, user and system, in ms; the resolution is one tick. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The process name before the fields may contain any character, so fields are counted from its closing parenthesis.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Resident memory in MB (millions of bytes). */
export function residentMb(pid: number): number {
  return statusMb(pid, "VmRSS");
}

/**
 * The highest resident memory so far, in MB. The maximum of `process.resourceUsage` would include the memory of the
 * parent process, which a new process shares for a moment.
 */
export function peakResidentMb(pid: number): number {
  return statusMb(pid, "VmHWM");
}

function statusMb(pid: number, field: string): number {
  const match = new RegExp(`^${field}:\\s+([0-9]+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return (Number(match?.[1]) * BYTES_PER_KIB) / 1e6;
}
