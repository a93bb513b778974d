/**
 * A monotonic clock that also counts the time during which the machine was suspended. The usual monotonic clock of an
 * operating system stands still meanwhile, so a server that was suspended would take its old leases for valid.
 *
 * Reading the clock that runs through suspend is a system call, which is too slow for every request. On resume, the
 * kernel advances the wall clock and this clock in one step. So this clock is read only after the wall clock has jumped
 * against the monotonic clock, and once a second, in case another jump has hidden the first one.
 */
interface MachineClocks {
  /** Wall-clock milliseconds. */
  readonly wall: () => number;
  /** Monotonic milliseconds, which need not count while the machine is suspended. */
  readonly monotonic: () => number;
  /** Milliseconds since the machine was booted, including suspends; undefined if the platform cannot tell. */
  readonly sinceBoot: () => number | undefined;
}

/** Jumps below this size are rounding errors. */
const JUMP_MS = 50;
/** Differences below this size are within the resolution of the clocks. */
const RESOLUTION_MS = 100;
const READ_EVERY_MS = 1_000;
/** The reading is repeated if it took longer, because the process may have been paused meanwhile. */
const READING_MS_MAX = 10;
const READINGS_MAX = 3;

export function throughSuspend({ wall, monotonic, sinceBoot }: MachineClocks): () => number {
  /** By how much the clock that runs through suspend is ahead of the monotonic clock; undefined if it is unknown. */
  const readLead = (): number | undefined => {
    for (let reading = 0; reading < READINGS_MAX; reading++) {
      const before = monotonic();
      const bootMs = sinceBoot();
      if (bootMs === undefined) return undefined;
      if (monotonic() - before <= READING_MS_MAX) return bootMs - before;
    }
    return undefined;
  };
  let firstLeadMs = readLead();
  let suspendedMs = 0;
  let wallLeadMs = wall() - monotonic();
  let readAtMs = monotonic();
  return () => {
    const nowMs = monotonic();
    const leadMs = wall() - nowMs;
    if (Math.abs(leadMs - wallLeadMs) < JUMP_MS && nowMs - readAtMs < READ_EVERY_MS) return nowMs + suspendedMs;
    wallLeadMs = leadMs;
    readAtMs = nowMs;
    const found = readLead();
    firstLeadMs ??= found;
    const totalMs = found === undefined || firstLeadMs === undefined ? 0 : found - firstLeadMs;
    if (totalMs >= suspendedMs + RESOLUTION_MS) suspendedMs = totalMs;
    return nowMs + suspendedMs;
  };
}
