/** Divides the server's seats among the priority levels. Pure. */
import type { PriorityLevel } from "./priority-level.ts";
import type { Demand } from "./seat-demand.ts";

export interface SeatLimits {
  readonly nominal: number;
  /** Seats that the level never lends. */
  readonly lower: number;
  /** The maximum number of seats, including borrowed seats. */
  readonly upper: number;
}

/**
 * Divides the seats of the server by shares. Nominal seats are rounded up, so their sum may slightly exceed the seats
 * of the server.
 */
export function seatLimits(levels: readonly PriorityLevel[], serverSeats: number): SeatLimits[] {
  const sharesOfAll = levels.reduce((sum, { shares }) => sum + shares, 0);
  return levels.map(({ shares, lendablePercent, borrowingLimitPercent }) => {
    const nominal = sharesOfAll === 0 ? 0 : Math.ceil((serverSeats * shares) / sharesOfAll);
    const lendable = Math.round((nominal * lendablePercent) / 100);
    const borrowing =
      borrowingLimitPercent === undefined ? serverSeats : Math.round((nominal * borrowingLimitPercent) / 100);
    return { nominal, lower: nominal - lendable, upper: nominal + borrowing };
  });
}

export interface SeatClaim {
  readonly isExempt: boolean;
  readonly limits: SeatLimits;
  readonly demand: Demand;
}

/**
 * The current number of seats of each level: levels with low demand lend seats to levels with high demand. A level with
 * nominal seats keeps at least one. DIFFERS: in kube-apiserver, a level can lend all its seats, and its next request
 * waits for the next adjustment.
 */
export function currentLimits(claims: readonly SeatClaim[]): number[] {
  return allocatedSeats(claims).map((seats, index) =>
    (claims[index]?.limits.nominal ?? 0) > 0 ? Math.max(1, seats) : seats,
  );
}

function allocatedSeats(claims: readonly SeatClaim[]): number[] {
  const all: AssuredClaim[] = claims.map((claim) => ({ ...claim, assured: assuredSeats(claim) }));
  const seats = claims.reduce((sum, { limits }) => sum + limits.nominal, 0);
  let [left, lowerSum, assuredSum] = [seats, 0, 0];
  for (const { isExempt, limits, assured } of all) {
    if (isExempt) {
      left -= assured;
    } else {
      lowerSum += limits.lower;
      assuredSum += assured;
    }
  }
  // As kube-apiserver: the seats that exempt requests use are also allocated to the other levels.
  if (left > assuredSum) return fairLimits(all, seats);
  const fraction = left <= lowerSum ? 0 : (left - lowerSum) / (assuredSum - lowerSum);
  return all.map(({ isExempt, limits: { lower }, assured }) =>
    isExempt ? assured : lower + Math.round((assured - lower) * fraction),
  );
}

interface AssuredClaim extends SeatClaim {
  readonly assured: number;
}

/**
 * The seats of its own that a level needs, by its highest demand in the last period. An exempt level gets all the seats
 * that it needs.
 */
function assuredSeats({ isExempt, limits: { nominal, lower }, demand: { highWatermark } }: SeatClaim): number {
  return Math.max(lower, isExempt ? highWatermark : Math.min(nominal, highWatermark));
}

const TARGET_MIN = 0.001;

function fairLimits(claims: readonly AssuredClaim[], seats: number): number[] {
  const proportion = fairProportion(claims.map(allocationItem), seats);
  return claims.map((claim) =>
    claim.isExempt ? claim.assured : Math.round(bounded(allocationItem(claim), proportion)),
  );
}

function allocationItem({ isExempt, limits, demand, assured }: AssuredClaim): AllocationItem {
  return isExempt
    ? { lower: 0, upper: 0, target: TARGET_MIN }
    : {
        lower: assured,
        upper: Math.max(limits.upper, assured),
        target: Math.max(assured, demand.smoothed, TARGET_MIN),
      };
}

interface AllocationItem {
  readonly lower: number;
  readonly upper: number;
  readonly target: number;
}

/**
 * The proportion by which all targets are multiplied, so that the results within their bounds add up to `seats` or come
 * closest to it.
 */
export function fairProportion(items: readonly AllocationItem[], seats: number): number {
  const sumAt = (proportion: number): number => items.reduce((sum, item) => sum + bounded(item, proportion), 0);
  const bends = items.flatMap(({ lower, upper, target }) => [lower / target, upper / target]);
  bends.sort((left, right) => left - right);
  let [low, high] = [0, bends.length - 1];
  const bendAt = (index: number): number => bends[index] ?? 0;
  if (high < 0 || sumAt(bendAt(high)) <= seats) return bendAt(high);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sumAt(bendAt(middle)) >= seats) high = middle;
    else low = middle + 1;
  }
  if (low === 0) return bendAt(0);
  const [before, after] = [bendAt(low - 1), bendAt(low)];
  const [sumBefore, sumAfter] = [sumAt(before), sumAt(after)];
  return sumAfter === sumBefore ? after : before + ((after - before) * (seats - sumBefore)) / (sumAfter - sumBefore);
}

function bounded({ lower, upper, target }: AllocationItem, proportion: number): number {
  return Math.max(lower, Math.min(upper, proportion * target));
}
