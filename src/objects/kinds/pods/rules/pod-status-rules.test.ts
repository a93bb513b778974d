import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { container, CONTEXT, pod, messagesOf } from "../../../../../test/testing/objects/kinds/pods/pods.ts";
import { podStatusErrors } from "./pod-status-rules.ts";

function updated(status: JsonObject, before: JsonObject = {}, spec: JsonObject = {}): string[] {
  const existing = { ...pod(spec), status: { qosClass: "BestEffort", ...before } };
  return messagesOf(podStatusErrors({ ...existing, status: { qosClass: "BestEffort", ...status } }, existing, CONTEXT));
}

const RUNNING = [{ name: "c", state: { running: {} } }];

function ended(exitCode: number): JsonObject[] {
  return [{ name: "c", state: { terminated: { exitCode } } }];
}

test.each<[status: JsonObject, expected: string[]]>([
  [{ phase: "Running", podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] }, []],
  [{ qosClass: "Guaranteed" }, ['status.qosClass: Invalid value: "Guaranteed": field is immutable']],
  [
    { podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0.2" }] },
    [
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family',
    ],
  ],
  [
    { hostIP: "10.0.0.1", hostIPs: [{ ip: "10.0.0.2" }] },
    ['status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`'],
  ],
  [{ observedGeneration: -1 }, ["status.observedGeneration: Invalid value: -1: must be a non-negative integer"]],
  [
    { resourceClaimStatuses: [{ name: "r" }] },
    [
      'status.resourceClaimStatuses[0].name: Invalid value: "r": must match the name of an entry in `spec.resourceClaims`',
    ],
  ],
  [
    { podIPs: [{ ip: "10.0.0.1" }, { ip: "x" }] },
    [
      'status.podIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"x"}]: may specify no more than one IP for each IP family',
    ],
  ],
])("the pod status %j has the expected errors", (status, expected) => {
  expect(updated(status)).toEqual(expected);
});

describe("the restart of a terminated container", () => {
  const why = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";

  test.each<[spec: JsonObject, exitCode: number, expected: string[]]>([
    [{ restartPolicy: "Always" }, 0, []],
    [{ restartPolicy: "OnFailure" }, 1, []],
    [{ restartPolicy: "OnFailure" }, 0, [why]],
    [{ restartPolicy: "Never" }, 1, [why]],
    [{ restartPolicy: "Never", ...container({ restartPolicy: "OnFailure" }) }, 1, []],
    [
      {
        restartPolicy: "Never",
        ...container({
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        }),
      },
      42,
      [],
    ],
  ])(
    "of a pod with %j after exit code %i is accepted or rejected according to its restart policy",
    (spec, exitCode, expected) => {
      expect(updated({ containerStatuses: RUNNING }, { containerStatuses: ended(exitCode) }, spec)).toEqual(expected);
    },
  );
});

test("a nominated node name is rejected for a pod that is bound to a node", () => {
  expect(updated({ nominatedNodeName: "m" }, {}, { nodeName: "n" })).toEqual([
    "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node",
  ]);
});
