/** How large the program of a regular expression becomes: what is repeated is written out as often. */

interface Group {
  /** Of all that stands in it so far. */
  total: number;
  /** Of what a repetition that follows would repeat. */
  last: number;
}

/** Never less than it takes by an order of magnitude; what is no expression has a size, too. */
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
  // Groups that stay open count, too.
  return groups.reduce((sum, { total }) => sum + total, group.total);
}

function addAtom(group: Group, size: number): void {
  group.total += size;
  group.last = size;
}
