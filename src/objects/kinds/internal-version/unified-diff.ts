/** Computes the line-by-line diff of two texts, exactly as kube-apiserver shows it in error messages. */
import { must } from "../../../base/assert.ts";

const CONTEXT_LINES = 3;
/**
 * In texts with at least this many lines, a match does not start with a line that makes up more than one percent of the
 * text.
 */
const POPULAR_FROM = 200;
/** Longer texts are not compared, because it takes too long and users would not read the result. */
const LINES_MAX = 5000;

interface Match {
  readonly a: number;
  readonly b: number;
  readonly size: number;
}

/** A range of lines of `a`, and the range of `b` that equals or replaces it. */
interface Step {
  readonly isEqual: boolean;
  readonly a: readonly [from: number, to: number];
  readonly b: readonly [from: number, to: number];
}

/** The diff; empty if the texts are equal or too long. */
export function unifiedDiff(a: readonly string[], b: readonly string[]): string {
  if (a.length > LINES_MAX || b.length > LINES_MAX) return "";
  return hunks(steps(a, b))
    .map((hunk) => shownHunk(hunk, a, b))
    .join("");
}

function shownHunk(hunk: readonly Step[], a: readonly string[], b: readonly string[]): string {
  const first = must(hunk[0], "a hunk has steps");
  const last = hunk.at(-1) ?? first;
  const lines = [`@@ -${range(first.a[0], last.a[1])} +${range(first.b[0], last.b[1])} @@`];
  for (const step of hunk) {
    if (step.isEqual) lines.push(...a.slice(...step.a).map((line) => ` ${line}`));
    else {
      lines.push(...a.slice(...step.a).map((line) => `-${line}`));
      lines.push(...b.slice(...step.b).map((line) => `+${line}`));
    }
  }
  return lines.map((line) => `${line}\n`).join("");
}

function range(from: number, to: number): string {
  const length = to - from;
  if (length === 1) return `${from + 1}`;
  return `${length === 0 ? from : from + 1},${length}`;
}

/** Groups the steps into hunks. Omits long unchanged ranges between two hunks. */
function hunks(all: readonly Step[]): Step[][] {
  if (all.every(({ isEqual }) => isEqual)) return [];
  const result: Step[][] = [];
  let hunk: Step[] = [];
  for (const [index, step] of all.entries()) {
    const isFirst = index === 0;
    const isLast = index === all.length - 1;
    if (!step.isEqual) hunk.push(step);
    else if (isFirst) hunk.push(tail(step));
    else if (isLast) hunk.push(head(step));
    else if (step.a[1] - step.a[0] <= 2 * CONTEXT_LINES) hunk.push(step);
    else {
      result.push([...hunk, head(step)]);
      hunk = [tail(step)];
    }
  }
  return [...result, hunk];
}

function head({ isEqual, a, b }: Step): Step {
  return {
    isEqual,
    a: [a[0], Math.min(a[1], a[0] + CONTEXT_LINES)],
    b: [b[0], Math.min(b[1], b[0] + CONTEXT_LINES)],
  };
}

function tail({ isEqual, a, b }: Step): Step {
  return {
    isEqual,
    a: [Math.max(a[0], a[1] - CONTEXT_LINES), a[1]],
    b: [Math.max(b[0], b[1] - CONTEXT_LINES), b[1]],
  };
}

function steps(a: readonly string[], b: readonly string[]): Step[] {
  const result: Step[] = [];
  let [i, j] = [0, 0];
  for (const match of [...matches(a, b), { a: a.length, b: b.length, size: 0 }]) {
    if (i < match.a || j < match.b) result.push({ isEqual: false, a: [i, match.a], b: [j, match.b] });
    [i, j] = [match.a + match.size, match.b + match.size];
    const before = result.at(-1);
    if (match.size === 0) continue;
    if (before?.isEqual === true) result[result.length - 1] = { ...before, a: [before.a[0], i], b: [before.b[0], j] };
    else result.push({ isEqual: true, a: [match.a, i], b: [match.b, j] });
  }
  return result;
}

/** Finds the longest common range, then recurs on both sides of it. */
function matches(a: readonly string[], b: readonly string[]): Match[] {
  const places = placesOf(b);
  const found: Match[] = [];
  const open: (readonly [number, number, number, number])[] = [[0, a.length, 0, b.length]];
  for (let stretch = open.pop(); stretch !== undefined; stretch = open.pop()) {
    const [aFrom, aTo, bFrom, bTo] = stretch;
    const match = longestMatch({ a, b, places }, stretch);
    if (match.size === 0) continue;
    found.push(match);
    if (aFrom < match.a && bFrom < match.b) open.push([aFrom, match.a, bFrom, match.b]);
    if (match.a + match.size < aTo && match.b + match.size < bTo)
      open.push([match.a + match.size, aTo, match.b + match.size, bTo]);
  }
  return found.sort((left, right) => left.a - right.a);
}

function placesOf(lines: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (const [index, line] of lines.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [index]);
    else known.push(index);
  }
  if (lines.length < POPULAR_FROM) return places;
  const popular = Math.floor(lines.length / 100) + 1;
  return new Map([...places].filter(([, indexes]) => indexes.length <= popular));
}

interface Texts {
  readonly a: readonly string[];
  readonly b: readonly string[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

function longestMatch(texts: Texts, stretch: readonly [aFrom: number, aTo: number, bFrom: number, bTo: number]): Match {
  const { a, b } = texts;
  const [aFrom, aTo, bFrom, bTo] = stretch;
  let { a: i, b: j, size } = longestRun(texts, stretch);
  while (i > aFrom && j > bFrom && a[i - 1] === b[j - 1]) [i, j, size] = [i - 1, j - 1, size + 1];
  while (i + size < aTo && j + size < bTo && a[i + size] === b[j + size]) size++;
  return { a: i, b: j, size };
}

function longestRun({ a, places }: Texts, [aFrom, aTo, bFrom, bTo]: readonly [number, number, number, number]): Match {
  let best: Match = { a: aFrom, b: bFrom, size: 0 };
  let lengths = new Map<number, number>();
  for (let i = aFrom; i < aTo; i++) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i] ?? "") ?? []) {
      if (j < bFrom) continue;
      if (j >= bTo) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best.size) best = { a: i - size + 1, b: j - size + 1, size };
    }
    lengths = next;
  }
  return best;
}
