/** What is known to be broken: it fails nothing, and leaves this list when it is mended. What kubernetes breaks too stays. */
import type { Failure } from "./run-batch.ts";

export interface KnownFinding {
  readonly promise: RegExp;
  /** "group/resource". */
  readonly key: RegExp;
  readonly what: RegExp;
  readonly why: string;
  /** Where it can be seen. */
  readonly seed: number;
  readonly caseNumber: number;
}

export const KNOWN_FINDINGS: readonly KnownFinding[] = [
  {
    promise: /^what can be read can be put back in another version$/,
    key: /^resource\.k8s\.io\//,
    what: /^422 /,
    why: "resource.k8s.io/v1beta1 has no rules, so that it stores what v1 and v1beta2 refuse",
    ...{ seed: 2, caseNumber: 800 },
  },
  {
    promise: /^what can be read can be put back$/,
    key: /^\/nodes$/,
    what: /status\.addresses\[\d+\]: Duplicate value/,
    why: "as kubernetes, an address of a node may stand twice when it is created, and not when it is updated",
    ...{ seed: 2, caseNumber: 14_486 },
  },
  {
    promise: /^what can be read can be put back in another version$/,
    key: /^\/events$/,
    what: /metadata\.finalizers\[\d+\]: Invalid value: .* name is neither a standard finalizer name nor is it fully qualified/,
    why: "as kubernetes, events of the core group may have any finalizers, and those of events.k8s.io may not",
    ...{ seed: 1, caseNumber: 72_458 },
  },
  {
    promise: /^what can be read can be put back$/,
    key: /^batch\/cronjobs$/,
    what: /metadata\.finalizers\[\d+\]: Invalid value/,
    why: "as kubernetes, /status of a cron job takes finalizers that the object itself may not have",
    ...{ seed: 1, caseNumber: 827_516 },
  },
  {
    promise: /^putting back what was read changes nothing$/,
    key: /^resource\.k8s\.io\//,
    what: /opaque\/parameters: null versus nothing/,
    why: "raw JSON that is null is kept when it is sent first, and dropped when it is sent again",
    ...{ seed: 1, caseNumber: 834_521 },
  },
];

export function isKnown({ fuzzCase, report }: Pick<Failure, "fuzzCase" | "report">): boolean {
  return report.findings.every(({ promise, what }) =>
    KNOWN_FINDINGS.some(
      (known) => known.promise.test(promise) && known.key.test(fuzzCase.target.key) && known.what.test(what),
    ),
  );
}
