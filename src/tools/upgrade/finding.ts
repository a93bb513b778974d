/**
 * The findings of the commands that look for problems before an upgrade. `inspect`, `check` and `rehearse` share their
 * form, so that IDs, severities and exit codes mean the same everywhere.
 */

/** `error`: must be fixed before the upgrade. `warning`: should be fixed. `info`: good to know, nothing to fix. */
export type Severity = "error" | "warning" | "info";

export interface UpgradeFinding {
  /** Stable, in kebab case, and unique to the rule: users pass it to --ignore. */
  readonly id: string;
  readonly severity: Severity;
  /** The problem as one sentence without a period, with the resource and the count. */
  readonly title: string;
  /** The consequence for the user if it is not fixed. */
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
  readonly subjects: readonly FindingSubject[];
}

/** An object, a key, a client or a file that a finding is about. */
export interface FindingSubject {
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
