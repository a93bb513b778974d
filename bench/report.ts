/** Renders the result as a table, and compares it with an earlier one. */
import type { Row } from "./row.ts";
import { spread } from "./statistics.ts";

export interface Result {
  readonly commit: string;
  /** True if the working tree differed from the commit. */
  readonly changed: boolean;
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  readonly pinned: boolean;
  readonly loadAverage: readonly number[];
  readonly date: string;
  readonly rounds: number;
  readonly scale: number;
  /** URL of the other API server that was measured instead of the floor. */
  readonly against?: string;
  readonly rows: readonly Row[];
}

export function renderResult(result: Result): string {
  const head = [
    `commit ${result.commit.slice(0, 12)}${result.changed ? " with changes" : ""} · Node ${result.node} · ${result.date}`,
    `${result.cpu}, ${result.cores} cores${result.pinned ? ", server and client pinned to one core each" : ""} · load average ${result.loadAverage.map((load) => load.toFixed(2)).join(" ")} at the start`,
    `medians of ${result.rounds} rounds${result.scale === 1 ? "" : ", short ones: not a measurement"}; ratio = ours / ${result.against ?? "floor"}, ± is half the range`,
  ];
  const other = result.against === undefined ? "floor" : "other";
  const titles = ["", "unit", other, "ours", "±", "ratio", "±", "target", "", "wall clock", other, "ours", ""];
  return `${head.join("\n")}\n\n${table([titles, ...result.rows.map(cells)])}`;
}

function cells(row: Row): string[] {
  const { floor, ours, ratio, target, wall } = row;
  return [
    row.title,
    row.unit,
    floor === undefined ? "" : shown(floor.median),
    shown(ours.median),
    percent(spread(ours)),
    ratio === undefined ? "" : `${ratio.median.toFixed(2)}×`,
    ratio === undefined ? "" : percent(spread(ratio)),
    target?.text ?? "",
    target?.verdict ?? "",
    wall?.unit ?? "",
    wall?.floor === undefined ? "" : shown(wall.floor.median),
    wall === undefined ? "" : shown(wall.ours.median),
    wall?.note ?? "",
  ];
}

export function renderComparison(now: Result, before: Result, source: string): string {
  const earlier = new Map(before.rows.map((row) => [row.id, row]));
  const lines = now.rows.flatMap((row) => {
    const old = earlier.get(row.id);
    if (old === undefined) return [];
    const ratios =
      row.ratio === undefined || old.ratio === undefined
        ? ["", "", ""]
        : [
            `${old.ratio.median.toFixed(2)}×`,
            `${row.ratio.median.toFixed(2)}×`,
            change(old.ratio.median, row.ratio.median),
          ];
    return [
      [
        row.title,
        row.unit,
        shown(old.ours.median),
        shown(row.ours.median),
        change(old.ours.median, row.ours.median),
        ...ratios,
      ],
    ];
  });
  if (lines.length === 0) return "";
  const head = `Compared with ${before.commit.slice(0, 12)}${before.changed ? " with changes" : ""} of ${before.date} (${source}); on a shared machine the ratio is more reliable than the time.`;
  return `${head}\n\n${table([["", "unit", "before", "now", "change", "ratio before", "now", "change"], ...lines])}`;
}

function change(before: number, now: number): string {
  const share = before === 0 ? 0 : now / before - 1;
  return `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(0)} %`;
}

/**
 * A larger share is shown as a dash: for a median close to 0, such as that of differences, the spread as a share of the
 * median is meaningless.
 */
const SHARE_MAX = 10;

function percent(share: number): string {
  return share < SHARE_MAX ? `${(share * 100).toFixed(0)} %` : "–";
}

function shown(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && value < 1_000) return String(value);
  return value >= 1_000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

/** Left-aligns the first two columns and those of LEFT_COLUMNS, and right-aligns the figures. */
function table(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const leansLeft = (column: number): boolean => column < 2 || LEFT_COLUMNS.has(lines[0]![column]!);
  return lines
    .map((line) =>
      line
        .map((cell, column) => (leansLeft(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

const LEFT_COLUMNS: ReadonlySet<string> = new Set(["target", "", "wall clock"]);
