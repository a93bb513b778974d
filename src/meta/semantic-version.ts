/**
 * Parses and compares versions as defined by semver.org, with the error messages of the Go library that Kubernetes
 * uses.
 */
import { goQuote } from "./go-quote.ts";

const UINT_MAX = 2n ** 64n - 1n;
const TEXT_LENGTH_MAX = 1000;

/** One identifier of a prerelease. Numeric identifiers are bigints. */
type Prerelease = string | bigint;

export interface SemanticVersion {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly prerelease: readonly Prerelease[];
  /** The build metadata including its `+`; empty if there is none. */
  readonly build: string;
}

const ZERO: SemanticVersion = { numbers: [0n, 0n, 0n], prerelease: [], build: "" };

export class VersionError extends Error {
  override readonly name = "VersionError";
}

/** Throws a VersionError if the text is not a version. */
export function parseVersion(text: string): SemanticVersion {
  if (text === "") throw new VersionError("Version string empty");
  const [majorText, rest] = cut(text, ".");
  const [minorText, tail] = cut(rest ?? "", ".");
  if (rest === undefined || tail === undefined || text.length > TEXT_LENGTH_MAX)
    throw new VersionError("No Major.Minor.Patch elements found");
  const [version, build] = cut(tail, "+");
  const [patchText, prereleaseText] = cut(version, "-");
  const numbers = [numberOf("Major", majorText), numberOf("Minor", minorText), numberOf("Patch", patchText)] as const;
  const prerelease = prereleaseText?.split(".").map(prereleaseOf) ?? [];
  for (const part of build?.split(".") ?? []) checkBuild(part);
  return { numbers, prerelease, build: build === undefined ? "" : `+${build}` };
}

/** The version; undefined if the text is not a version. */
export function versionOf(text: string): SemanticVersion | undefined {
  try {
    return parseVersion(text);
  } catch (error) {
    if (error instanceof VersionError) return undefined;
    throw error;
  }
}

/** Splits the text at the first separator; the second part is undefined if there is no separator. */
export function cut(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function numberOf(name: string, text: string): bigint {
  if (!/^\d*$/.test(text))
    throw new VersionError(`Invalid character(s) found in ${name.toLowerCase()} number ${goQuote(text)}`);
  if (/^0./.test(text)) throw new VersionError(`${name} number must not contain leading zeroes ${goQuote(text)}`);
  if (text === "") throw new VersionError('strconv.ParseUint: parsing "": invalid syntax');
  const value = BigInt(text);
  if (value > UINT_MAX) throw new VersionError(`strconv.ParseUint: parsing ${goQuote(text)}: value out of range`);
  return value;
}

function prereleaseOf(text: string): Prerelease {
  if (text === "") throw new VersionError("Prerelease is empty");
  if (!/^[0-9A-Za-z-]+$/.test(text))
    throw new VersionError(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  if (!/^\d+$/.test(text)) return text;
  if (/^0./.test(text))
    throw new VersionError(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
  return BigInt(text);
}

function checkBuild(part: string): void {
  if (part === "") throw new VersionError("Build meta data is empty");
  if (!/^[0-9A-Za-z-]+$/.test(part))
    throw new VersionError(`Invalid character(s) found in build meta data ${goQuote(part)}`);
}

/** -1 if the left is older, 1 if it is newer. An absent version counts as 0.0.0. */
export function compareVersions(left: SemanticVersion = ZERO, right: SemanticVersion = ZERO): -1 | 0 | 1 {
  for (const [index, number] of left.numbers.entries()) {
    const result = order(number, right.numbers[index]!);
    if (result !== 0) return result;
  }
  // A version without a prerelease is newer than its prereleases.
  if (left.prerelease.length === 0 || right.prerelease.length === 0)
    return order(Number(left.prerelease.length === 0), Number(right.prerelease.length === 0));
  for (const [index, one] of left.prerelease.entries()) {
    const other = right.prerelease[index];
    if (other === undefined) return 1;
    const result = comparePrereleases(one, other);
    if (result !== 0) return result;
  }
  return left.prerelease.length < right.prerelease.length ? -1 : 0;
}

/** Numeric identifiers precede alphanumeric ones. */
function comparePrereleases(left: Prerelease, right: Prerelease): -1 | 0 | 1 {
  if (typeof left === typeof right) return order(left, right);
  return typeof left === "bigint" ? -1 : 1;
}

function order(left: string | bigint | number, right: string | bigint | number): -1 | 0 | 1 {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
