/** A row of the benchmark's result: our figure, that of the floor, and their ratio. */
import { figure, type Figure } from "./statistics.ts";

export type Verdict = "met" | "missed";

export interface Row {
  /** Stable ID, by which rows of different runs are compared. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly floor?: Figure;
  readonly ours: Figure;
  /** The median of the ratios of single rounds, because a disturbance of a round affects both servers. */
  readonly ratio?: Figure;
  /** Wall-clock figures of the same rounds. */
  readonly wall?: WallClock;
  /** The place of the figure in a chart of growth-chart.ts. */
  readonly point?: { readonly chart: string; readonly unit: string; readonly series: string; readonly x: number };
  readonly target?: { readonly text: string; readonly verdict: Verdict };
}

export interface WallClock {
  readonly unit: string;
  readonly floor?: Figure;
  readonly ours: Figure;
  /** Additional figures such as latencies, for the reader only. */
  readonly note?: string;
}

export interface Pair {
  readonly floor: number;
  readonly ours: number;
}

export function compared(pairs: readonly Pair[]): {
  readonly floor: Figure;
  readonly ours: Figure;
  readonly ratio: Figure;
} {
  return {
    floor: figure(pairs.map((pair) => pair.floor)),
    ours: figure(pairs.map((pair) => pair.ours)),
    ratio: figure(pairs.map((pair) => pair.ours / pair.floor)),
  };
}

export function atMost(value: number, limit: number, text: string): NonNullable<Row["target"]> {
  return { text, verdict: value <= limit ? "met" : "missed" };
}
