/** The charts of a report as SVG, drawn only from the figures of the report. */
import { escapeHtml } from "../upgrade/report/html-text.ts";
import type { UpgradePlan } from "./plan.ts";
import type { RunReport, SeriesKey, StorageLane, StoragePoint } from "./report.ts";
import { wordsOf } from "./subject.ts";
import { minuteText } from "./times.ts";

const WIDTH = 960;
const LEFT = 48;
const RIGHT = 24;
const ROOM = WIDTH - LEFT - RIGHT;
const TOP = 40;
const PLOT_HEIGHT = 150;
const LANE_HEIGHT = 26;
const LANE_LABEL_HEIGHT = 14;
const STACKED: readonly SeriesKey[] = ["ok", "notFound", "unavailable", "other"];
const TICKS = 6;

export const SERIES_NAMES: Readonly<Record<SeriesKey, string>> = {
  ok: "2xx",
  notFound: "404",
  unavailable: "503",
  other: "other",
  wrong: "wrong",
};

/** Responses by status over time, with the releases as bands and wrong responses as marks. */
export function responsesChart(run: RunReport, plan: UpgradePlan, scaleMax: number): string {
  const height = TOP + PLOT_HEIGHT + 24;
  const label = `Responses over time: ${wordsOf(run.subject).name}`;
  return svg(height, label, [
    ...bands(plan, PLOT_HEIGHT),
    ...absences(run, plan, PLOT_HEIGHT),
    ...bars(run, plan, scaleMax),
    ...marks(run, plan),
    ...axis(plan, TOP + PLOT_HEIGHT),
    text({ x: LEFT - 6, y: TOP + 8, anchor: "end" }, String(scaleMax)),
    text({ x: LEFT - 6, y: TOP + PLOT_HEIGHT, anchor: "end" }, "0"),
  ]);
}

/** The maximum of both runs, so that their charts have the same scale. */
export function highestBucket(runs: readonly RunReport[]): number {
  const sums = runs.flatMap(({ series }) => series.buckets.map((bucket) => stackOf(bucket)));
  return Math.max(1, ...sums);
}

function stackOf(bucket: Readonly<Record<SeriesKey, number>>): number {
  return STACKED.reduce((sum, key) => sum + bucket[key], 0);
}

/** A chart of the version in which all servers write a resource, with one lane for each resource. */
export function storageChart(lanes: readonly StorageLane[], plan: UpgradePlan): string {
  const rowHeight = LANE_HEIGHT + LANE_LABEL_HEIGHT;
  const height = TOP + lanes.length * rowHeight + 24;
  const rows = lanes.flatMap((lane, index) => laneRow(lane, plan, TOP + index * rowHeight));
  const lanesHeight = lanes.length * rowHeight;
  return svg(height, "Storage versions over time", [
    ...bands(plan, lanesHeight),
    ...rows,
    ...axis(plan, TOP + lanesHeight),
  ]);
}

function laneRow({ resource, points }: StorageLane, plan: UpgradePlan, y: number): string[] {
  const versions = [...new Set(points.flatMap(({ common }) => common ?? []))].sort();
  const cells = points.map((point, index) => {
    const { atMs, common, encodings } = point;
    const from = xOf(atMs, plan);
    const until = xOf(points[index + 1]?.atMs ?? plan.durationMs, plan);
    const shade = common === null ? "none" : `v${versions.indexOf(common) % 4}`;
    const who = Object.entries(encodings).map(([server, version]) => `${server} ${version}`);
    const title = `${minuteText(atMs)} ${common ?? "no common version"} (${who.join(", ")})`;
    const shown = laneText(point);
    const name =
      until - from > 8 * shown.length ? text({ x: from + 4, y: y + LANE_LABEL_HEIGHT + 14, kind: "in" }, shown) : "";
    return (
      rect(
        { x: from, y: y + LANE_LABEL_HEIGHT, width: until - from, height: LANE_HEIGHT - 8, kind: `lane ${shade}` },
        title,
      ) + name
    );
  });
  return [text({ x: LEFT, y: y + LANE_LABEL_HEIGHT - 3 }, resource), ...cells];
}

/**
 * The label of a lane: the common version, or all written versions if there is none. The group is omitted, because the
 * name of the resource contains it.
 */
export function laneText({ common, encodings }: StoragePoint): string {
  const versions = common === null ? [...new Set(Object.values(encodings))].sort() : [common];
  return versions.map((version) => version.slice(version.lastIndexOf("/") + 1)).join(" and ") || "none";
}

function bars({ series }: RunReport, plan: UpgradePlan, scaleMax: number): string[] {
  const width = Math.max(1, ROOM / series.buckets.length - 1);
  return series.buckets.flatMap((bucket, index) => {
    const atMs = index * series.bucketMs;
    const reported = STACKED.map((key) => `${SERIES_NAMES[key]} ${bucket[key]}`).join(", ");
    let y = TOP + PLOT_HEIGHT;
    return STACKED.filter((key) => bucket[key] > 0).map((key) => {
      const height = (bucket[key] / scaleMax) * PLOT_HEIGHT;
      y -= height;
      return rect({ x: xOf(atMs, plan), y, width, height, kind: `bar ${key}` }, `${minuteText(atMs)}: ${reported}`);
    });
  });
}

function marks({ series }: RunReport, plan: UpgradePlan): string[] {
  const half = ROOM / series.buckets.length / 2;
  return series.buckets.flatMap(({ wrong }, index) => {
    if (wrong === 0) return [];
    const atMs = index * series.bucketMs;
    const [x, y] = [xOf(atMs, plan) + half, TOP + 6];
    const size = Math.min(6, 3 + Math.log2(wrong));
    const path = `M${n(x)} ${n(y - size)}L${n(x + size)} ${n(y)}L${n(x)} ${n(y + size)}L${n(x - size)} ${n(y)}Z`;
    return [`<path class="mark" d="${path}"><title>${minuteText(atMs)}: ${wrong} wrong</title></path>`];
  });
}

/** A labeled band for the time of each minor release. */
function bands(plan: UpgradePlan, height: number): string[] {
  const { steps, durationMs } = plan;
  const firsts = steps.filter(({ from, to }, index) => {
    const before = steps[index - 1];
    return before === undefined || before.to !== to || before.from !== from;
  });
  return firsts.flatMap(({ atMs, from, to }, index) => {
    const x = xOf(atMs, plan);
    const width = xOf(firsts[index + 1]?.atMs ?? durationMs, plan) - x;
    const name = `${from} to ${to}`;
    return [
      rect({ x, y: TOP, width, height, kind: index % 2 === 0 ? "band" : "band odd" }, name),
      text({ x: x + 3, y: TOP - 22 + (index % 2) * 12, kind: "band-name" }, name),
    ];
  });
}

/** Marks the times in which a server is down. */
function absences({ steps: played }: RunReport, plan: UpgradePlan, height: number): string[] {
  return played.map(({ serverId, to, stoppedAtMs, readyAtMs }) => {
    const x = xOf(stoppedAtMs, plan);
    const width = Math.max(1.5, xOf(readyAtMs ?? plan.durationMs, plan) - x);
    return rect({ x, y: TOP, width, height, kind: "step" }, `${minuteText(stoppedAtMs)}: ${serverId} becomes ${to}`);
  });
}

function axis(plan: UpgradePlan, y: number): string[] {
  const ticks = Array.from({ length: TICKS + 1 }, (_, index) => (plan.durationMs * index) / TICKS);
  return [
    `<line class="axis" x1="${LEFT}" y1="${n(y)}" x2="${LEFT + ROOM}" y2="${n(y)}"/>`,
    ...ticks.map((atMs) => text({ x: xOf(atMs, plan), y: y + 16, anchor: "middle" }, minuteText(atMs))),
  ];
}

function xOf(atMs: number, { durationMs }: UpgradePlan): number {
  return LEFT + (Math.min(durationMs, Math.max(0, atMs)) / durationMs) * ROOM;
}

function svg(height: number, label: string, parts: readonly string[]): string {
  const name = escapeHtml(label);
  return `<svg role="img" aria-label="${name}" viewBox="0 0 ${WIDTH} ${n(height)}"><title>${name}</title>${parts.join("")}</svg>`;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly kind: string;
}

function rect({ x, y, width, height, kind }: Box, title: string): string {
  const shape = `x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, width))}" height="${n(height)}"`;
  return `<rect class="${escapeHtml(kind)}" ${shape}><title>${escapeHtml(title)}</title></rect>`;
}

interface Spot {
  readonly x: number;
  readonly y: number;
  readonly anchor?: "middle" | "end";
  readonly kind?: string;
}

function text({ x, y, anchor, kind }: Spot, shown: string): string {
  const where = `x="${n(x)}" y="${n(y)}"${anchor ? ` text-anchor="${anchor}"` : ""}${kind ? ` class="${kind}"` : ""}`;
  return `<text ${where}>${escapeHtml(shown)}</text>`;
}

/** Formats a coordinate. Two decimals are more precise than a screen. */
function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
