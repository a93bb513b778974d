/** Suggests the name that a user may have meant, so that the error about a misspelled name tells what to type. */

/** Names are shorter. A longer text gets no suggestion. */
const NAME_LENGTH_MAX = 100;
/** A name is suggested if at most this share of the letters of the given text differs. */
const DIFFERENCE_MAX = 1 / 3;

/** The name that needs the fewest changes of letters; undefined if none is similar. */
export function closestName(text: string, names: readonly string[]): string | undefined {
  if (text.length > NAME_LENGTH_MAX) return undefined;
  let closest: string | undefined;
  let distanceMax = Math.floor(text.length * DIFFERENCE_MAX);
  for (const name of names) {
    const distance = editDistance(text.toLowerCase(), name.toLowerCase());
    if (distance > distanceMax) continue;
    closest = name;
    distanceMax = distance - 1;
  }
  return closest;
}

/** The number of letters to insert, remove or replace (Levenshtein). */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let other = 1; other <= right.length; other++) {
      const isSame = left[at - 1] === right[other - 1];
      next.push(Math.min(row[other]! + 1, next[other - 1]! + 1, row[other - 1]! + (isSame ? 0 : 1)));
    }
    row = next;
  }
  return row[right.length]!;
}
