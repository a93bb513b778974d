import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { JOB } from "./job.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import {
  CONTEXT,
  created,
  defaulted,
  prepared,
  sentences,
  updated,
} from "../../../../test/testing/objects/kinds/workloads/objects.ts";

const UID = "u-1";
const GENERATED = {
  "job-name": "j",
  "batch.kubernetes.io/job-name": "j",
  "controller-uid": UID,
  "batch.kubernetes.io/controller-uid": UID,
};

function job(spec: JsonObject = {}, podSpec: JsonObject = {}, labels?: JsonObject): JsonObject {
  const containers = [{ name: "c", image: "example/app:1" }];
  const template = {
    ...(labels === undefined ? {} : { metadata: { labels } }),
    spec: { restartPolicy: "Never", containers, ...podSpec },
  };
  return { metadata: { name: "j", namespace: "default", uid: UID }, spec: { template, ...spec } };
}

/** Errors of an update that sets these fields of a Job; the Job was created with the spec `start`. */
function changed(spec: JsonObject = {}, podSpec: JsonObject = {}, start: JsonObject = {}): string[] {
  const existing = prepared(JOB, job(start));
  const next = structuredClone(existing) as { spec: JsonObject & { template: { spec: JsonObject } } };
  Object.assign(next.spec, spec);
  Object.assign(next.spec.template.spec, podSpec);
  return sentences(JOB.updateErrors?.(defaulted(JOB, next), existing, CONTEXT));
}

describe("a minimal Job", () => {
  test("defaults to one completion and six retries", () => {
    expect(defaulted(JOB, job())["spec"]).toMatchObject({
      completions: 1,
      parallelism: 1,
      backoffLimit: 6,
      completionMode: "NonIndexed",
      suspend: false,
      podReplacementPolicy: "TerminatingOrFailed",
      manualSelector: false,
    });
  });

  test("gets no default completions if it has a parallelism", () => {
    expect(defaulted(JOB, job({ parallelism: 3 }))["spec"]).not.toHaveProperty("completions");
    expect(defaulted(JOB, job({ completions: 3 }))["spec"]).toMatchObject({ completions: 3, parallelism: 1 });
  });

  test("with a backoff limit per index and a failure policy has no overall backoff limit, and replaces pods only after they have failed", () => {
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
    const spec = { backoffLimitPerIndex: 1, podFailurePolicy: { rules } };
    expect(defaulted(JOB, job(spec))["spec"]).toMatchObject({
      backoffLimit: 2_147_483_647,
      podReplacementPolicy: "Failed",
      podFailurePolicy: {
        rules: [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }],
      },
    });
  });

  test("gets the generated selector and labels", () => {
    expect(prepared(JOB, job())).toMatchObject({
      metadata: { labels: GENERATED },
      spec: {
        selector: { matchLabels: { "batch.kubernetes.io/controller-uid": UID } },
        template: { metadata: { labels: GENERATED } },
      },
      status: {},
    });
    const labels = { app: "x" };
    expect(prepared(JOB, job({}, {}, labels))["metadata"]).toHaveProperty("labels", { ...GENERATED, ...labels });
  });

  test("with labels keeps its own labels", () => {
    const own = { ...job({}, {}, { app: "x" }), metadata: { name: "j", uid: UID, labels: { mine: "1" } } };
    expect(prepared(JOB, own)["metadata"]).toHaveProperty("labels", { mine: "1" });
  });

  test("with manualSelector keeps its own selector", () => {
    const manual = prepared(JOB, job({ manualSelector: true, selector: { matchLabels: { a: "b" } } }, {}, { a: "b" }));
    expect(manual["spec"]).toMatchObject({
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } } },
    });
  });
});

describe("a Job", () => {
  const UNREADABLE = 'must be a domain-prefixed path (such as "acme.io/foo")';

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", job(), []],
    [
      "needs a restart policy other than Always",
      job({}, { restartPolicy: undefined }),
      ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ],
    [
      "rejects other values for the generated labels",
      job({}, {}, { "job-name": "x" }),
      [
        `spec.template.metadata.labels[job-name]: Invalid value: {"batch.kubernetes.io/controller-uid":"u-1","batch.kubernetes.io/job-name":"j","controller-uid":"u-1","job-name":"x"}: must be 'j'`,
      ],
    ],
    [
      "rejects a selector without manualSelector",
      job({ selector: { matchLabels: { a: "b" } } }),
      [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u-1"}}: `selector` not auto-generated',
        `spec.template.metadata.labels: Invalid value: {"batch.kubernetes.io/controller-uid":"u-1","batch.kubernetes.io/job-name":"j","controller-uid":"u-1","job-name":"j"}: \`selector\` does not match template \`labels\``,
      ],
    ],
    [
      "needs completions if it is indexed",
      job({ completionMode: "Indexed", parallelism: 1 }),
      ["spec.completions: Required value: when completion mode is Indexed"],
    ],
    [
      "rejects limits per index if it is not indexed",
      job({ backoffLimitPerIndex: 1, maxFailedIndexes: 1 }),
      [
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
      ],
    ],
    [
      "rejects an unknown completion mode",
      job({ completionMode: "Odd" }),
      ['spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"'],
    ],
    ["needs a domain in managedBy", job({ managedBy: "me" }), [`spec.managedBy: Invalid value: "me": ${UNREADABLE}`]],
    [
      "rejects a replacement policy that contradicts its failure policy",
      job({
        podReplacementPolicy: "TerminatingOrFailed",
        podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [1] } }] },
      }),
      ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
    ],
  ])("%s", (_what, object, errors) => {
    expect(created(JOB, object)).toEqual(errors);
  });

  test("rejects a name that is too long for the hostnames of its pods", () => {
    const name = "j".repeat(63);
    const object = job({ completionMode: "Indexed", completions: 2 });
    object["metadata"] = { name, uid: UID };
    expect(created(JOB, object).at(-1)).toBe(
      `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-1`,
    );
  });
});

describe("an update of a Job", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["of mutable fields is accepted", { parallelism: 3, suspend: true, activeDeadlineSeconds: 5, backoffLimit: 1 }, []],
    ["of the completions is rejected", { completions: 2 }, ["spec.completions: Invalid value: 2: field is immutable"]],
    [
      "of managedBy is rejected",
      { managedBy: "example.com/x" },
      ['spec.managedBy: Invalid value: "example.com/x": field is immutable'],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(changed(spec)).toEqual(errors);
  });

  test("reports an invalid value twice, as kubernetes", () => {
    const wrong = "spec.parallelism: Invalid value: -1: must be greater than or equal to 0";
    expect(changed({ parallelism: -1 })).toEqual([wrong, wrong]);
  });

  test("may change completions together with parallelism if it is indexed", () => {
    const indexed = { completionMode: "Indexed", completions: 1, parallelism: 1 };
    expect(changed({ completions: 2, parallelism: 2 }, {}, indexed)).toEqual([]);
    expect(changed({ completions: 3, parallelism: 2 }, {}, indexed)).toEqual([
      "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism",
    ]);
  });

  test("of the template is rejected with an error that shows the whole template", () => {
    const [error, ...more] = changed({}, { containers: [{ name: "c", image: "example/app:1", args: ["a && b"] }] });
    expect(more).toEqual([]);
    expect(error).toMatch(
      /^spec\.template: Invalid value: \{"labels":\{.*\},"Spec":\{"Volumes":null,.*: field is immutable$/,
    );
    expect(error).toContain(
      '"Containers":[{"Name":"c","Image":"example/app:1","Command":null,"Args":["a \\u0026\\u0026 b"],',
    );
    expect(error).toContain('"NodeName":"","SecurityContext":{"HostNetwork":false');
  });

  test("of a suspended Job may change the scheduling of its pods", () => {
    expect(changed({}, { nodeSelector: { a: "b" } }, { suspend: true })).toEqual([]);
    expect(changed({}, { nodeSelector: { a: "b" } })).toHaveLength(1);
    expect(changed({}, { nodeName: "n" }, { suspend: true })[0]).toMatch(/^spec\.template\.spec: Invalid value: /);
  });

  test("of a suspended Job may change container resources since 1.36", () => {
    const containers = [{ name: "c", image: "example/app:1", resources: { requests: { cpu: "1" } } }];
    const before = prepared(JOB, job({ suspend: true }));
    expect(changed({}, { containers }, { suspend: true })).toEqual([]);
    const after = job(
      { suspend: true, selector: (before["spec"] as JsonObject)["selector"] },
      { containers },
      GENERATED,
    );
    expect(updated(JOB, job({ suspend: true }), after, { ...CONTEXT, gates: gatesOf("1.35") })[0]).toMatch(
      /^spec\.template: /,
    );
  });
});

test("a huge number of indexes causes a warning, on create only", () => {
  const huge = job({ completionMode: "Indexed", completions: 100_001, parallelism: 10_001 });
  expect([...(JOB.warnings?.(huge, undefined, CONTEXT) ?? [])]).toEqual([
    "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
  ]);
  expect([...(JOB.warnings?.(huge, huge, CONTEXT) ?? [])]).toEqual([]);
});

test("a Job with a generated name gets only the labels of its template; a Job with another name also gets the generated labels", () => {
  const labels = (metadata: JsonObject): unknown =>
    objectAt(prepared(JOB, { ...job({}, {}, { a: "b" }), metadata: { uid: UID, ...metadata } }), "metadata")["labels"];
  expect(labels({ generateName: "j-", name: "j-abcde" })).toEqual({ a: "b" });
  expect(labels({ name: "j-abcde" })).toMatchObject({ a: "b", "job-name": "j-abcde" });
});

test('errors about a Job without a name do not contain "undefined"', () => {
  const nameless = { ...job(), metadata: { uid: UID } };
  expect(created(JOB, nameless).filter((sentence) => sentence.includes("undefined"))).toEqual([]);
});

test("an empty list of failure policy rules and unknown times of a Job are written as null", () => {
  const object = { ...job({ podFailurePolicy: { rules: [] } }), status: { conditions: [{ type: "X" }] } };
  expect(defaulted(JOB, object)).toMatchObject({
    spec: { podFailurePolicy: { rules: null } },
    status: { conditions: [{ type: "X", lastProbeTime: null, lastTransitionTime: null }] },
  });
});
