/** Versions as semver.org has them. */
import { goQuote } from "../../../meta/go-quote.ts";
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

const UINT_MAX = 2n ** 64n - 1n;
const TEXT_LENGTH_MAX = 1000;

type Prerelease = string | bigint;

class Semver extends OpaqueValue {
  readonly typeName = "kubernetes.Semver";
  readonly numbers: readonly [bigint, bigint, bigint];
  readonly prerelease: readonly Prerelease[];
  readonly #text: string;

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly Prerelease[], build: string) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
    this.#text = numbers.join(".") + (prerelease.length > 0 ? `-${prerelease.join(".")}` : "") + build;
  }

  equals(other: Value): boolean | EvalError {
    return other instanceof Semver ? compare(this, other) === 0n : NO_SUCH_OVERLOAD;
  }

  toString(): string {
    return this.#text;
  }
}

function order(left: string | bigint, right: string | bigint): bigint {
  if (left === right) return 0n;
  return left < right ? -1n : 1n;
}

/** Numbers come before words. */
function comparePrerelease(left: Prerelease, right: Prerelease): bigint {
  if (typeof left === typeof right) return order(left, right);
  return typeof left === "bigint" ? -1n : 1n;
}

function compare(left: Semver, right: Semver): bigint {
  for (const [index, number] of left.numbers.entries()) {
    const result = order(number, right.numbers[index] ?? 0n);
    if (result !== 0n) return result;
  }
  if (left.prerelease.length === 0 || right.prerelease.length === 0)
    return BigInt(Number(left.prerelease.length === 0) - Number(right.prerelease.length === 0));
  for (const [index, one] of left.prerelease.entries()) {
    const other = right.prerelease[index];
    if (other === undefined) return 1n;
    const result = comparePrerelease(one, other);
    if (result !== 0n) return result;
  }
  return left.prerelease.length < right.prerelease.length ? -1n : 0n;
}

function parsedNumber(name: string, text: string): bigint | EvalError {
  if (!/^\d*$/.test(text))
    return new EvalError(`Invalid character(s) found in ${name.toLowerCase()} number ${goQuote(text)}`);
  if (/^0./.test(text)) return new EvalError(`${name} number must not contain leading zeroes ${goQuote(text)}`);
  if (text === "") return new EvalError('strconv.ParseUint: parsing "": invalid syntax');
  const value = BigInt(text);
  return value > UINT_MAX ? new EvalError(`strconv.ParseUint: parsing ${goQuote(text)}: value out of range`) : value;
}

function parsedPrerelease(text: string): Prerelease | EvalError {
  if (text === "") return new EvalError("Prerelease is empty");
  if (/^\d+$/.test(text)) {
    if (/^0./.test(text))
      return new EvalError(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
    return BigInt(text);
  }
  if (/^[0-9A-Za-z-]+$/.test(text)) return text;
  return new EvalError(`Invalid character(s) found in prerelease ${goQuote(text)}`);
}

function buildFailure(parts: readonly string[]): EvalError | undefined {
  for (const part of parts) {
    if (part === "") return new EvalError("Build meta data is empty");
    if (!/^[0-9A-Za-z-]+$/.test(part))
      return new EvalError(`Invalid character(s) found in build meta data ${goQuote(part)}`);
  }
  return undefined;
}

/** At most so many parts; the last keeps the rest. */
function cut(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function parse(text: string): Semver | EvalError {
  if (text === "") return new EvalError("Version string empty");
  const [majorText, rest] = cut(text, ".");
  const [minorText, tail] = cut(rest ?? "", ".");
  if (rest === undefined || tail === undefined || text.length > TEXT_LENGTH_MAX)
    return new EvalError("No Major.Minor.Patch elements found");
  const [version, build] = cut(tail, "+");
  const [patchText, prereleaseText] = cut(version, "-");
  const major = parsedNumber("Major", majorText);
  if (major instanceof EvalError) return major;
  const minor = parsedNumber("Minor", minorText);
  if (minor instanceof EvalError) return minor;
  const patch = parsedNumber("Patch", patchText);
  if (patch instanceof EvalError) return patch;
  const prerelease: Prerelease[] = [];
  for (const part of prereleaseText?.split(".") ?? []) {
    const parsed = parsedPrerelease(part);
    if (parsed instanceof EvalError) return parsed;
    prerelease.push(parsed);
  }
  const failure = buildFailure(build?.split(".") ?? []);
  return failure ?? new Semver([major, minor, patch], prerelease, build === undefined ? "" : `+${build}`);
}

function withoutZeros(part: string): string {
  if (part.length < 2) return part;
  const trimmed = part.replace(/^0+/, "");
  return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
}

/** `v1.2` is taken for 1.2.0. */
function parseLoosely(text: string): Semver | EvalError {
  const plain = text.startsWith("v") ? text.slice(1) : text;
  const [major, rest] = cut(plain, ".");
  const [minor, patch] = rest === undefined ? [undefined, undefined] : cut(rest, ".");
  const parts = [major, minor, patch].filter((part) => part !== undefined).map(withoutZeros);
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? ""))
    return new EvalError("short version cannot contain PreRelease/Build meta data");
  while (parts.length < 3) parts.push("0");
  return parse(parts.join("."));
}

function semver(text: string, isLoose = false): Semver | EvalError {
  return isLoose ? parseLoosely(text) : parse(text);
}

function isSemver(text: string, isLoose = false): boolean {
  return semver(text, isLoose) instanceof Semver;
}

export const SEMVERS: readonly Overload[] = [
  overload("string_to_semver", "semver(string): Semver", semver),
  overload("string_bool_to_semver", "semver(string, bool): Semver", semver),
  overload("is_semver_string", "isSemver(string): bool", isSemver),
  overload("is_semver_string_bool", "isSemver(string, bool): bool", isSemver),
  overload(
    "semver_is_greater_than",
    "Semver.isGreaterThan(Semver): bool",
    (left: Semver, right: Semver) => compare(left, right) === 1n,
  ),
  overload(
    "semver_is_less_than",
    "Semver.isLessThan(Semver): bool",
    (left: Semver, right: Semver) => compare(left, right) === -1n,
  ),
  overload("semver_compare_to", "Semver.compareTo(Semver): int", compare),
  overload("semver_major", "Semver.major(): int", ({ numbers }: Semver) => BigInt.asIntN(64, numbers[0])),
  overload("semver_minor", "Semver.minor(): int", ({ numbers }: Semver) => BigInt.asIntN(64, numbers[1])),
  overload("semver_patch", "Semver.patch(): int", ({ numbers }: Semver) => BigInt.asIntN(64, numbers[2])),
];
