/** Draws the growth rows as an HTML page: a chart for each cost, with a line for each store. */
import type { Row } from "./row.ts";

const WIDTH = 560;
const HEIGHT = 240;
const MARGIN = { left: 60, right: 40, top: 16, bottom: 34 };
const COLORS: readonly string[] = ["#3268c8", "#c86432", "#2f8f4e"];

type Point = NonNullable<Row["point"]> & { readonly y: number; readonly low: number; readonly high: number };

/** Undefined if no row is a point of a chart. */
export function renderGrowth(rows: readonly Row[], title: string): string | undefined {
  const points = rows.flatMap(({ point, ours }): Point[] =>
    point === undefined ? [] : [{ ...point, y: ours.median, low: ours.low, high: ours.high }],
  );
  if (points.length === 0) return undefined;
  const charts = [...Map.groupBy(points, (point) => point.chart)].map(([name, those]) => drawn(name, those));
  return `<!doctype html>
<meta charset="utf-8">
<title>Evenkeel: growth</title>
<style>body { font: 14px system-ui, sans-serif; margin: 2em } svg { display: block } h2 { font-size: 15px }</style>
<h1>Cost as the cluster grows</h1>
<p>${escaped(title)}. Medians; a vertical line is the range of the rounds. The horizontal axis is logarithmic.</p>
${charts.join("\n")}
`;
}

function drawn(name: string, points: readonly Point[]): string {
  const xs = points.map(({ x }) => Math.log10(x));
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const top = Math.max(...points.map(({ high }) => high)) * 1.1 || 1;
  const xOf = (x: number): number =>
    MARGIN.left + ((Math.log10(x) - left) / (right - left || 1)) * (WIDTH - MARGIN.left - MARGIN.right);
  const yOf = (y: number): number =>
    HEIGHT - MARGIN.bottom - (Math.max(0, y) / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const sizes = [...new Set(points.map(({ x }) => x))];
  const ticks = sizes.map((x) =>
    label({ x: xOf(x), y: HEIGHT - MARGIN.bottom + 18, text: x.toLocaleString("en"), anchor: "middle" }),
  );
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const [y, value] = [yOf(share * top), share * top];
    const line = `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y}" y2="${y}" stroke="#ddd"/>`;
    const text = value < 10 ? value.toFixed(1) : value.toFixed(0);
    return line + label({ x: MARGIN.left - 8, y: y + 4, text, anchor: "end" });
  });
  const lines = [...Map.groupBy(points, ({ series }) => series)].map(([series, those], index) => {
    const color = COLORS[index % COLORS.length]!;
    const path = those.map(({ x, y }) => `${xOf(x)},${yOf(y)}`).join(" ");
    const ranges = those.map(({ x, low, high }) => {
      const at = xOf(x);
      return `<line x1="${at}" x2="${at}" y1="${yOf(low)}" y2="${yOf(high)}" stroke="${color}"/>`;
    });
    const dots = those.map(({ x, y }) => `<circle cx="${xOf(x)}" cy="${yOf(y)}" r="3" fill="${color}"/>`);
    const key = label({ x: WIDTH - MARGIN.right, y: MARGIN.top + 14 * index, text: series, anchor: "end", color });
    return `<polyline points="${path}" fill="none" stroke="${color}"/>${ranges.join("")}${dots.join("")}${key}`;
  });
  const body = [...levels, ...ticks, ...lines].join("\n");
  return `<h2>${escaped(name)} (${escaped(points[0]!.unit)})</h2>
<svg width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escaped(name)}">
${body}
</svg>`;
}

interface Label {
  readonly x: number;
  readonly y: number;
  readonly text: string;
  readonly anchor: "middle" | "end";
  readonly color?: string;
}

function label({ x, y, text, anchor, color = "#333" }: Label): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="${color}">${escaped(text)}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
