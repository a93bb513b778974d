/**
 * Preloaded with `node --import` into a measured process: at its end, it writes the CPU time and the highest resident
 * memory of the process to file descriptor 3. Another process could only sample them.
 */
import { writeSync } from "node:fs";
import { peakResidentMb } from "../process-usage.ts";
import type { Usage } from "./measured-process.ts";

process.on("exit", () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage: Usage = { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakMb: peakResidentMb(process.pid) };
  writeSync(3, JSON.stringify(usage));
});
