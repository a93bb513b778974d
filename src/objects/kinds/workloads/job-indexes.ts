/** Parses the indexes of an indexed Job, such as "1,3-5,7". */

interface Interval {
  readonly first: number;
  readonly last: number;
}

/** The number of indexes, or the reason why the text is invalid. */
export function countIndexes(text: string, completions: number): number | string {
  if (text === "") return 0;
  let total = 0;
  let previous: number | undefined;
  for (const part of text.split(",")) {
    const interval = parseInterval(part, completions);
    if (typeof interval === "string") return interval;
    const { first, last } = interval;
    if (previous !== undefined && previous >= first)
      return `non-increasing order, previous: ${previous}, current: ${first}`;
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/** An index that is in both texts, ignoring malformed parts; undefined if there is none. */
export function commonIndex(left: string, right: string, completions: number): number | undefined {
  if (left === "" || right === "") return undefined;
  const lefts = intervalsOf(left, completions);
  const rights = intervalsOf(right, completions);
  let leftAt = 0;
  let rightAt = 0;
  for (;;) {
    const one = lefts[leftAt];
    const other = rights[rightAt];
    if (one === undefined || other === undefined) return undefined;
    if (one.first <= other.last && other.first <= one.last) return Math.max(one.first, other.first);
    if (one.first <= other.first) leftAt++;
    else rightAt++;
  }
}

function intervalsOf(text: string, completions: number): Interval[] {
  return text
    .split(",")
    .map((part) => parseInterval(part, completions))
    .filter((interval) => typeof interval !== "string");
}

function parseInterval(part: string, completions: number): Interval | string {
  const limits = part.split("-");
  if (limits.length > 2)
    return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  const numbers: number[] = [];
  for (const limit of limits) {
    if (!/^[+-]?[0-9]{1,18}$/.test(limit))
      return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`;
    numbers.push(Number(limit));
  }
  const [first = 0, last] = numbers;
  if (last !== undefined && first >= last) return `non-increasing order, previous: ${first}, current: ${last}`;
  return { first, last: last ?? first };
}
