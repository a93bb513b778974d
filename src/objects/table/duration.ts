/** Formats ages and durations in tables as kubectl shows them. */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY_HOURS = 24;
const YEAR_DAYS = 365;

/** A duration in two or three significant figures: `95s`, `5m30s`, `7h12m`, `3d4h`, `2y10d`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / SECOND);
  // A time up to two seconds in the future counts as now, because the clocks of two machines differ.
  if (Number.isNaN(seconds) || seconds < -1) return "<invalid>";
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.trunc(milliseconds / MINUTE);
  if (minutes < 10) return twoUnits(minutes, "m", [seconds % 60, "s"]);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(milliseconds / HOUR);
  if (hours < 8) return twoUnits(hours, "h", [minutes % 60, "m"]);
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / DAY_HOURS);
  if (days < 8) return twoUnits(days, "d", [hours % DAY_HOURS, "h"]);
  if (days < 2 * YEAR_DAYS) return `${days}d`;
  const years = Math.trunc(days / YEAR_DAYS);
  return years < 8 ? twoUnits(years, "y", [days % YEAR_DAYS, "d"]) : `${years}y`;
}

function twoUnits(count: number, unit: string, [rest, smallerUnit]: readonly [rest: number, unit: string]): string {
  return rest === 0 ? `${count}${unit}` : `${count}${unit}${rest}${smallerUnit}`;
}
