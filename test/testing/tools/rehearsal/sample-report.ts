/** A small rehearsal report in which every part is present, for tests of its rendering. */
import { createPlan } from "../../../../src/tools/rehearsal/plan.ts";
import { decideVerdict, type RehearsalReport, type RunReport } from "../../../../src/tools/rehearsal/report.ts";
import type { RehearsalSubject } from "../../../../src/tools/rehearsal/subject.ts";

export const PLAN = createPlan({ from: "1.33", to: "1.35", servers: 2, minutes: 6, way: "up" });

export function sampleRun(subject: RehearsalSubject, changed: Partial<RunReport> = {}): RunReport {
  return {
    subject,
    answers: 120,
    byStatus: { "200": 100, "201": 10, "404": 7, "503": 3 },
    unanswered: 1,
    wrong: 0,
    wrongByKind: {},
    firstWrong: [],
    unavailable: 3,
    longestWait: { ms: 4200, atMs: 61_000, client: "kubectl-1", request: "GET /api/v1/configmaps" },
    routing: [
      { serverId: "apiserver-1", local: 60, proxied: 4, unavailable: 1 },
      { serverId: "apiserver-2", local: 50, proxied: 3, unavailable: 2 },
    ],
    series: { bucketMs: 120_000, buckets: [bucket(40), bucket(38), bucket(42)] },
    steps: PLAN.steps.map(({ serverId, from, to, atMs }) => ({
      ...{ serverId, from, to, stoppedAtMs: atMs, readyAtMs: atMs + 3_000 },
    })),
    storage: [
      {
        resource: "resource.k8s.io.resourceclaims",
        points: [
          { atMs: 0, common: "resource.k8s.io/v1beta2", encodings: { "apiserver-1": "resource.k8s.io/v1beta2" } },
          {
            ...{ atMs: 90_000, common: null },
            encodings: { "apiserver-1": "resource.k8s.io/v1", "apiserver-2": "resource.k8s.io/v1beta2" },
          },
          { atMs: 200_000, common: "resource.k8s.io/v1", encodings: { "apiserver-1": "resource.k8s.io/v1" } },
        ],
      },
    ],
    faults: [{ atMs: 5_000, what: "apiserver-1: pause for 2.0 s" }],
    work: {
      ...{ objectsMade: 10, objectsKept: 6, namespacesDeleted: 2, namespacesLeft: 1, ownersDeleted: 3 },
      objectsLeft: 4,
    },
    notes: [],
    failures: [],
    ...changed,
  };
}

function bucket(ok: number): RunReport["series"]["buckets"][number] {
  return { ok, notFound: 2, unavailable: 1, other: 0, wrong: 0 };
}

export function sampleReport(changed: Partial<RehearsalReport> = {}): RehearsalReport {
  const plain = sampleRun("kube-apiserver", {
    wrong: 2,
    wrongByKind: { "resource-called-unknown": 1, "missing-from-list": 1 },
    firstWrong: [
      {
        ...{ atMs: 70_000, kind: "resource-called-unknown", client: "kubectl-2", server: "apiserver-2" },
        request: "GET /apis/resource.k8s.io/v1/resourceclaims",
        ...{ said: "404: 404 page not found", right: "apiserver-1 (1.34) serves it" },
      },
    ],
  });
  const judged = sampleRun("kube-apiserver-with-proxy");
  return {
    format: 2,
    about: {
      version: "1.2.3",
      date: "2030-01-02T03:04:05.000Z",
      command: ["--from", "1.33", "--to", "1.35", "--manifests", "it's here"],
    },
    settings: {
      ...{
        from: "1.33",
        to: "1.35",
        servers: 2,
        minutes: 6,
        time: "virtual",
        way: "up",
        faults: "light",
        subject: "kube-apiserver-with-proxy",
        seed: 7,
      },
    },
    plan: PLAN,
    runs: [plain, judged],
    cluster: null,
    manifests: null,
    verdict: decideVerdict(judged, [plain], null),
    ...changed,
  };
}
