/** Semantic versions, as far as they are compared. */
export interface SemanticVersion {
  readonly numbers: readonly [major: number, minor: number, patch: number];
  readonly prerelease: readonly string[];
}

const NUMBER = "(0|[1-9][0-9]{0,15})";
const IDENTIFIERS = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${IDENTIFIERS}))?(?:\\+${IDENTIFIERS})?$`);
const LENGTH_MAX = 1000;

export function parseVersion(text: string): SemanticVersion | undefined {
  const match = text.length > LENGTH_MAX ? null : VERSION.exec(text);
  if (match === null) return undefined;
  const prerelease = match[4]?.split(".") ?? [];
  if (prerelease.some((identifier) => /^0[0-9]+$/.test(identifier))) return undefined;
  return { numbers: [Number(match[1]), Number(match[2]), Number(match[3])], prerelease };
}

const ZERO: SemanticVersion = { numbers: [0, 0, 0], prerelease: [] };

/** Below nothing when the left is older; no version counts as 0.0.0. */
export function compareVersions(left: SemanticVersion = ZERO, right: SemanticVersion = ZERO): number {
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - right.numbers[index]!;
    if (difference !== 0) return difference;
  }
  return comparePrereleases(left.prerelease, right.prerelease);
}

/** A version without prerelease is the newest of its numbers. */
function comparePrereleases(left: readonly string[], right: readonly string[]): number {
  if (left.length === 0 || right.length === 0) return right.length - left.length;
  for (const [index, identifier] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const difference = compareIdentifiers(identifier, other);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareIdentifiers(left: string, right: string): number {
  const [isLeftNumber, isRightNumber] = [left, right].map((text) => /^[0-9]+$/.test(text));
  if (isLeftNumber && isRightNumber) return Number(left) - Number(right);
  if (isLeftNumber !== isRightNumber) return isLeftNumber ? -1 : 1;
  return left < right ? -1 : left > right ? 1 : 0;
}
