/**
 * What the commands that look for problems before an upgrade report, so that `inspect`, `check` and `rehearse` have the
 * same IDs, severities and exit codes.
 */
/** `error`: must be fixed before the upgrade. `warning`: should be fixed. `info`: good to know, nothing to fix. */
export type Severity = "error" | "warning" | "info";

export interface Finding {
  /** Stable, in kebab case, and unique to the rule: users pass it to --ignore. */
  readonly id: string;
  readonly severity: Severity;
  /** What was found, as one sentence without a period, with the resource and the count. */
  readonly title: string;
  /** What happens to the user if it is not fixed. */
  readonly why: string;
  /** How to fix it, as steps. A step that begins with "$ " is a command. */
  readonly fix: readonly string[];
  /**
   * The release with which the problem begins, for example "1.22", which may be older than the catalog; absent if it
   * does not depend on a release.
   */
  readonly release?: `1.${number}`;
  /** Number of all subjects, of which `subjects` has at most SUBJECTS_MAX. */
  readonly count: number;
  readonly subjects: readonly Subject[];
}

/** What a finding is about: an object, a key, a client, or a file. */
export interface Subject {
  /** For example "configmaps shop/orphan". It never contains a value of a Secret. */
  readonly name: string;
  /** For example "owner: ReplicaSet web-1". */
  readonly detail?: string;
}

export const SUBJECTS_MAX = 100;

/** Exit codes of the commands: nothing to fix, something to fix, and no result. */
export const EXIT_CLEAN = 0;
export const EXIT_FINDINGS = 1;
export const EXIT_NO_RESULT = 2;
