/**
 * Known violations of invariants, which do not fail the run. Remove an entry when its violation is fixed. Entries about
 * violations that kube-apiserver also has remain.
 */
import type { Failure } from "./run-batch.ts";

export interface KnownFinding {
  readonly invariant: RegExp;
  /** Matches "group/resource". */
  readonly key: RegExp;
  readonly what: RegExp;
  readonly why: string;
  /** The seed and case that show the violation. */
  readonly seed: number;
  readonly caseNumber: number;
}

export const KNOWN_FINDINGS: readonly KnownFinding[] = [
  {
    invariant: /^an object can be written back in another version$/,
    key: /^resource\.k8s\.io\//,
    what: /^422 /,
    why: "resource.k8s.io/v1beta1 does not validate ResourceSlices, so it stores slices that v1 and v1beta2 reject",
    ...{ seed: 2, caseNumber: 800 },
  },
  {
    invariant: /^an object can be written back as it was read$/,
    key: /^\/nodes$/,
    what: /status\.addresses\[\d+\]: Duplicate value/,
    why: "as kubernetes, duplicate node addresses are accepted on create, but rejected on update",
    ...{ seed: 2, caseNumber: 14_486 },
  },
  {
    invariant: /^an object can be written back in another version$/,
    key: /^\/events$/,
    what: /metadata\.finalizers\[\d+\]: Invalid value: .* name is neither a standard finalizer name nor is it fully qualified/,
    why: "as kubernetes, events of the core group may have any finalizers, but those of events.k8s.io may not",
    ...{ seed: 1, caseNumber: 72_458 },
  },
  {
    invariant: /^an object can be written back as it was read$/,
    key: /^batch\/cronjobs$/,
    what: /metadata\.finalizers\[\d+\]: Invalid value/,
    why: "as kubernetes, /status of a cron job accepts finalizers that the object itself rejects",
    ...{ seed: 1, caseNumber: 827_516 },
  },
];

export function isKnown({ fuzzCase, report }: Pick<Failure, "fuzzCase" | "report">): boolean {
  return report.findings.every(({ invariant, what }) =>
    KNOWN_FINDINGS.some(
      (known) => known.invariant.test(invariant) && known.key.test(fuzzCase.target.key) && known.what.test(what),
    ),
  );
}
