/** Chooses the cores of the server and its clients, so that they do not share CPU time. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface Cores {
  readonly server: number;
  readonly others: number;
}

/** Undefined without `taskset` or with only one core. */
export function chooseCores(): Cores | undefined {
  const allowed = allowedCores();
  const [server, others] = allowed;
  if (server === undefined || others === undefined || !hasTaskset()) return undefined;
  return { server, others };
}

/**
 * The command that runs `command` on one core. It is still one process, because `taskset` replaces itself with the
 * command.
 */
export function pinned(core: number | undefined, command: readonly string[]): readonly string[] {
  return core === undefined ? command : ["taskset", "-c", String(core), ...command];
}

/** Moves a running process with all its threads to a core. */
export function pin(core: number | undefined, pid: number): void {
  if (core !== undefined) execFileSync("taskset", ["-a", "-p", "-c", String(core), String(pid)], { stdio: "ignore" });
}

function allowedCores(): number[] {
  const match = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"));
  return (match?.[1] ?? "").split(",").flatMap((range) => {
    const [first = NaN, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

function hasTaskset(): boolean {
  try {
    execFileSync("taskset", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
