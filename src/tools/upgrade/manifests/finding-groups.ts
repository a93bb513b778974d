/** Collects problems of many objects into one finding for each kind of problem, so that a report fits on a screen. */
import { type UpgradeFinding, type FindingSubject, SUBJECTS_MAX } from "../finding.ts";

/** A finding without its subjects. */
export interface FoundProblem extends Omit<UpgradeFinding, "count" | "subjects"> {
  /** Problems with the same ID and key are one finding. */
  readonly key: string;
}

/** A subject with the place of the object, for programs that read the JSON output. */
export interface ManifestSubject extends FindingSubject {
  readonly file: string;
  /** 0 if the whole file is meant. */
  readonly line: number;
  readonly source?: string;
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly objectName?: string;
}

interface Group {
  readonly problem: FoundProblem;
  readonly subjects: ManifestSubject[];
  count: number;
}

export class FindingGroups {
  readonly #groups = new Map<string, Group>();

  add(problem: FoundProblem, subject: ManifestSubject): void {
    const key = `${problem.id} ${problem.severity} ${problem.key}`;
    const group = this.#groups.get(key) ?? { problem, subjects: [], count: 0 };
    this.#groups.set(key, group);
    group.count += 1;
    if (group.subjects.length < SUBJECTS_MAX) group.subjects.push(subject);
  }

  /** In the order in which the first problem of each group was added. */
  findings(): readonly UpgradeFinding[] {
    return [...this.#groups.values()].map(({ problem, count, subjects }) => {
      const { key: _key, ...finding } = problem;
      return { ...finding, count, subjects };
    });
  }
}
