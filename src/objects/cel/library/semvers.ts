/** The CEL type Semver and its functions. */
import {
  compareVersions,
  cut,
  parseVersion,
  VersionError,
  type SemanticVersion,
} from "../../../meta/semantic-version.ts";
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

class Semver extends OpaqueValue {
  readonly typeName = "kubernetes.Semver";
  readonly version: SemanticVersion;

  constructor(version: SemanticVersion) {
    super();
    this.version = version;
  }

  equals(other: Value): boolean | EvalError {
    return other instanceof Semver ? compareVersions(this.version, other.version) === 0 : NO_SUCH_OVERLOAD;
  }

  toString(): string {
    const { numbers, prerelease, build } = this.version;
    return numbers.join(".") + (prerelease.length > 0 ? `-${prerelease.join(".")}` : "") + build;
  }
}

function parse(text: string): Semver | EvalError {
  try {
    return new Semver(parseVersion(text));
  } catch (error) {
    if (error instanceof VersionError) return new EvalError(error.message);
    throw error;
  }
}

function compare(left: Semver, right: Semver): bigint {
  return BigInt(compareVersions(left.version, right.version));
}

function withoutZeros(part: string): string {
  if (part.length < 2) return part;
  const trimmed = part.replace(/^0+/, "");
  return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
}

/** Normalizes before parsing: `v1.2` becomes 1.2.0. */
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
  overload("semver_major", "Semver.major(): int", ({ version }: Semver) => BigInt.asIntN(64, version.numbers[0])),
  overload("semver_minor", "Semver.minor(): int", ({ version }: Semver) => BigInt.asIntN(64, version.numbers[1])),
  overload("semver_patch", "Semver.patch(): int", ({ version }: Semver) => BigInt.asIntN(64, version.numbers[2])),
];
