/**
 * Checks rules that part of the code does not follow yet. known-offenders.json lists the existing offenders with their
 * sizes: a new offender fails the test, a listed offender may only shrink, and the entry of a fixed offender must be
 * removed.
 */
import type { Violation } from "./sources.ts";

/** The size of each known offender, keyed by `rule path name`. */
export type KnownOffenders = Readonly<Record<string, number>>;

export interface Offence {
  readonly key: string;
  readonly size: number;
  readonly violation: Violation;
}

export function checkRatchet(offences: readonly Offence[], known: KnownOffenders): readonly Violation[] {
  const found = offendersOf(offences);
  const violations: Violation[] = [];
  for (const { key, size, violation } of offences) {
    const listed = known[key];
    if (listed === undefined || size > listed) violations.push(violation);
    else if (found[key] === size && size < listed)
      violations.push({
        ...violation,
        message: `shrank from ${listed} to ${size}: write ${size} for "${key}" in known-offenders.json`,
      });
  }
  for (const key of Object.keys(known)) {
    if (found[key] === undefined)
      violations.push({
        path: key.split(" ")[1] ?? "",
        line: 1,
        message: `follows the rule now: remove "${key}" from known-offenders.json`,
      });
  }
  return violations;
}

/**
 * The content that known-offenders.json should have. If functions of a file share a name, their entry has the largest
 * size.
 */
export function offendersOf(offences: readonly Offence[]): KnownOffenders {
  const worst = new Map<string, number>();
  for (const { key, size } of offences) worst.set(key, Math.max(size, worst.get(key) ?? 0));
  return Object.fromEntries([...worst].sort(([left], [right]) => (left < right ? -1 : 1)));
}
