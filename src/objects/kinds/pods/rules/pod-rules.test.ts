import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../../meta/json.ts";
import { container, CONTEXT, pod, release, messagesOf } from "../../../../../test/testing/objects/kinds/pods/pods.ts";
import { podCreateErrors, podUpdateErrors } from "./pod-rules.ts";

const MAY_NOT_CHANGE =
  "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

function updated(next: JsonObject, before: JsonObject = {}, context = CONTEXT): string[] {
  return messagesOf(podUpdateErrors(pod(next, {}, context), pod(before, {}, context), context));
}

describe("an update of a pod", () => {
  test.each<[next: JsonObject, before: JsonObject]>([
    [{}, {}],
    [container({ image: "other" }), container({ imagePullPolicy: "IfNotPresent" })],
    [{ activeDeadlineSeconds: 10 }, { activeDeadlineSeconds: 20 }],
    [{ activeDeadlineSeconds: 10 }, {}],
    [{ tolerations: [{ operator: "Exists" }] }, {}],
    [{}, { schedulingGates: [{ name: "g" }] }],
    [container({ args: [] }), {}],
  ])("to %j from %j is accepted", (next, before) => {
    const fixed = structuredClone(next);
    const [first] = (fixed["containers"] ?? []) as JsonObject[];
    if (first !== undefined) first["imagePullPolicy"] = "IfNotPresent";
    expect(updated(fixed, before)).toEqual([]);
  });

  test.each<[next: JsonObject, before: JsonObject, expected: string[]]>([
    [
      {
        containers: [
          { name: "c", image: "c:1" },
          { name: "d", image: "d:1" },
        ],
      },
      {},
      ["spec.containers: Forbidden: pod updates may not add or remove containers"],
    ],
    [
      { activeDeadlineSeconds: 20 },
      { activeDeadlineSeconds: 10 },
      ["spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value"],
    ],
    [
      {},
      { activeDeadlineSeconds: 10 },
      ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
    ],
    [
      {},
      { tolerations: [{ operator: "Exists" }] },
      ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    ],
    [
      { schedulingGates: [{ name: "h" }] },
      { schedulingGates: [{ name: "g" }] },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"],
    ],
    [
      { nodeSelector: { a: "2" } },
      { nodeSelector: { a: "1" }, schedulingGates: [{ name: "g" }] },
      [
        'spec.nodeSelector: Invalid value: {"a":"2"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ],
    ],
  ])("to %j from %j is rejected", (next, before, expected) => {
    expect(updated(next, before)).toEqual(expected);
  });

  test("is rejected with a diff of the pod specs in their internal types", () => {
    expect(updated({ restartPolicy: "Never" })).toEqual([
      `${MAY_NOT_CHANGE}@@ -35,7 +35,7 @@
   }
  ],
  "EphemeralContainers": null,
- "RestartPolicy": "Always",
+ "RestartPolicy": "Never",
  "TerminationGracePeriodSeconds": 30,
  "ActiveDeadlineSeconds": null,
  "DNSPolicy": "ClusterFirst",
`,
    ]);
    expect(updated({ restartPolicy: "Never" }, {}, release("1.33"))).toEqual([MAY_NOT_CHANGE]);
  });

  test("is rejected with a diff whose HTML characters are escaped", () => {
    expect(updated(container({ args: ["<a&b>"] }))[0]).toContain('+    "\\u003ca\\u0026b\\u003e"\n');
  });

  test("with scheduling gates may narrow its node selector and node affinity", () => {
    const before = { schedulingGates: [{ name: "g" }], nodeSelector: { a: "1" } };
    const term = { matchExpressions: [{ key: "k", operator: "Exists" }] };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } };
    expect(updated({ ...before, nodeSelector: { a: "1", b: "2" }, affinity: { nodeAffinity } }, before)).toEqual([]);
    expect(updated({ ...before, hostname: "h" }, before)).toEqual([expect.stringContaining(MAY_NOT_CHANGE)]);
  });

  test("cannot remove the mirror pod annotation", () => {
    const before = pod({ nodeName: "n" }, { annotations: { "kubernetes.io/config.mirror": "m" } });
    const next = { ...before, metadata: { ...objectAt(before, "metadata"), annotations: {} } };
    expect(messagesOf(podUpdateErrors(next, before, CONTEXT))).toEqual([
      "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation",
    ]);
  });
});

test("the SELinux change policy MountOption is rejected, unless the stored pod has it", () => {
  const mounted = pod({ securityContext: { seLinuxChangePolicy: "MountOption" } });
  const why =
    'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"';
  expect(messagesOf(podCreateErrors(mounted, CONTEXT))).toEqual([why]);
  expect(messagesOf(podUpdateErrors(mounted, mounted, CONTEXT))).toEqual([]);
});
