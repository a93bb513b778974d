/**
 * Estimates the size of a compiled regular expression. Each repetition such as {10} is expanded when it is compiled, so
 * a short pattern can become very large.
 */

interface Group {
  /** Size of everything read so far in this group. */
  total: number;
  /** Size of the last part, which a following repetition would repeat. */
  last: number;
}

/**
 * The result may be smaller than the real size, but by less than an order of magnitude. An invalid expression has a
 * size too.
 */
export function patternSize(pattern: string): number {
  const groups: Group[] = [];
  let group: Group = { total: 1, last: 0 };
  const token = /\\[^]|\[\^?\]?(?:[^\]\\]|\\[^])*\]|\{(\d*),?(\d*)\}|[^]/y;
  for (let match = token.exec(pattern); match !== null; match = token.exec(pattern)) {
    const [text, least = "", most = ""] = match;
    if (text === "(") {
      groups.push(group);
      group = { total: 2, last: 0 };
    } else if (text === ")") {
      const { total } = group;
      group = groups.pop() ?? { total: 0, last: 0 };
      addAtom(group, total);
    } else if (least !== "") {
      const times = Math.max(Number(least), Number(most), 1);
      group.total += group.last * (times - 1);
      group.last *= times;
    } else addAtom(group, 1);
  }
  // Adds the groups that were not closed.
  return groups.reduce((sum, { total }) => sum + total, group.total);
}

function addAtom(group: Group, size: number): void {
  group.total += size;
  group.last = size;
}
