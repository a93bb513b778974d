/**
 * Chooses the version in which a server writes the objects of a resource, as kubernetes does since 1.31. The server
 * must be able to emulate an earlier release, and servers of the minimum compatibility release must be able to read
 * what it writes: without this rule, an upgrade that keeps the emulated version could not be rolled back.
 */
export interface StorageCandidate {
  /** Such as "resource.k8s.io/v1beta2". */
  readonly groupVersion: string;
  /** The release that introduced the version, such as "1.34"; undefined if every release has it. */
  readonly introduced: string | undefined;
  /** Whether the binary declares another version as the replacement of this one. */
  readonly isReplaced: boolean;
}

/** The differences between the rules of binaries of different releases. */
export interface StorageVersionRule {
  /** Whether a second pass looks for a version of the emulated release, so that the first pass can omit alpha versions. */
  readonly isTwoPass: boolean;
  /** Whether versions that have a replacement are never chosen. */
  readonly skipsReplaced: boolean;
}

interface ChoiceAt {
  readonly rule: StorageVersionRule;
  /** Such as "1.35". */
  readonly minCompatibility: string;
  /** The emulated release; that of the binary if the server emulates no other. */
  readonly emulated: string;
}

/**
 * `candidates` are the versions that the binary can decode, most preferred first. Undefined if there are none.
 *
 * - First pass: the first version that the minimum compatibility release has. With two passes, alpha versions do not
 *   count, because no release promises to read the alpha versions of another.
 * - Second pass, for resources that the minimum compatibility release has only as alpha or not at all: the first version
 *   that the emulated release has.
 * - Otherwise the most preferred version. Such a resource is newer than every release that has to read it.
 */
export function chooseStorageVersion(
  candidates: readonly StorageCandidate[],
  { rule, minCompatibility, emulated }: ChoiceAt,
): string | undefined {
  const isEligible = ({ groupVersion, isReplaced }: StorageCandidate): boolean =>
    !(rule.isTwoPass && isAlpha(groupVersion)) && !(rule.skipsReplaced && isReplaced);
  const chosen =
    candidates.find((one) => isEligible(one) && isIntroducedBy(one, minCompatibility)) ??
    (rule.isTwoPass ? candidates.find((one) => isIntroducedBy(one, emulated)) : undefined) ??
    candidates[0];
  return chosen?.groupVersion;
}

function isIntroducedBy({ introduced }: StorageCandidate, release: string): boolean {
  return introduced === undefined || minorOf(introduced) <= minorOf(release);
}

function isAlpha(groupVersion: string): boolean {
  return /v[0-9]+alpha[0-9]+$/.test(groupVersion);
}

function minorOf(release: string): number {
  return Number(release.slice("1.".length));
}
