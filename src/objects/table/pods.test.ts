import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rendererOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

const waiting = (reason: string): JsonObject => ({ waiting: { reason } });
const terminated = (fields: JsonObject): JsonObject => ({ terminated: fields });
const running = { running: {} };

function pod(
  status: JsonObject,
  spec: JsonObject = { containers: [{ name: "a" }] },
  metadata: JsonObject = {},
): JsonObject {
  return { metadata, spec, status };
}

const two = { containers: [{ name: "a" }, { name: "b" }] };
const withInit = { containers: [{ name: "a" }], initContainers: [{ name: "i" }, { name: "j" }] };
const withSidecar = { containers: [{ name: "a" }], initContainers: [{ name: "s", restartPolicy: "Always" }] };
const deleting = { deletionTimestamp: secondsAgo(1) };
const readyNow = [{ type: "Ready", status: "True" }];

test("a running pod shows its addresses, node and gates", () => {
  const object = pod(
    {
      phase: "Running",
      podIPs: [{ ip: "10.0.0.7" }, { ip: "fd00::7" }],
      podIP: "10.0.0.7",
      nominatedNodeName: "n2",
      conditions: [...readyNow, { type: "example.com/a", status: "True" }, { type: "example.com/b", status: "False" }],
      containerStatuses: [
        {
          name: "a",
          ready: true,
          restartCount: 3,
          state: running,
          lastState: terminated({ exitCode: 1, finishedAt: secondsAgo(300) }),
        },
      ],
    },
    {
      containers: [{ name: "a" }],
      nodeName: "n1",
      readinessGates: [{ conditionType: "example.com/a" }, { conditionType: "example.com/b" }],
    },
  );
  expect(rowOf("/Pod", object)).toEqual(["x", "1/1", "Running", "3 (5m ago)", "60m", "10.0.0.7", "n1", "n2", "1/2"]);
});

test("a pod without a status shows <none> and similar texts for the missing values", () => {
  expect(rowOf("/Pod", pod({ phase: "Pending" }))).toEqual([
    ...["x", "0/1", "Pending", "0", "60m"],
    ...["<none>", "<none>", "<none>", "<none>"],
  ]);
});

describe("the status of a pod", () => {
  test.each<[string, string, JsonObject]>([
    ["the reason of the whole pod", "Evicted", pod({ phase: "Failed", reason: "Evicted" })],
    [
      "scheduling gates",
      "SchedulingGated",
      pod({ phase: "Pending", conditions: [{ type: "PodScheduled", reason: "SchedulingGated" }] }),
    ],
    [
      "the reason for which a container waits",
      "CrashLoopBackOff",
      pod({ phase: "Running", containerStatuses: [{ state: waiting("CrashLoopBackOff") }] }),
    ],
    [
      "the reason of the first container rather than the second",
      "ImagePullBackOff",
      pod({ containerStatuses: [{ state: waiting("ImagePullBackOff") }, { state: waiting("ErrImagePull") }] }, two),
    ],
    [
      "the reason for which a container terminated",
      "OOMKilled",
      pod({ containerStatuses: [{ state: terminated({ reason: "OOMKilled" }) }] }),
    ],
    ["the signal that terminated it", "Signal:9", pod({ containerStatuses: [{ state: terminated({ signal: 9 }) }] })],
    ["the exit code", "ExitCode:3", pod({ containerStatuses: [{ state: terminated({ exitCode: 3 }) }] })],
    [
      "Completed if all containers have terminated",
      "Completed",
      pod({ phase: "Succeeded", containerStatuses: [{ state: terminated({ reason: "Completed", exitCode: 0 }) }] }),
    ],
    [
      "Running while another container runs and the pod is ready",
      "Running",
      pod(
        {
          conditions: readyNow,
          containerStatuses: [{ state: terminated({ reason: "Completed" }) }, { ready: true, state: running }],
        },
        two,
      ),
    ],
    [
      "NotReady while another container runs and the pod is not ready",
      "NotReady",
      pod(
        { containerStatuses: [{ state: terminated({ reason: "Completed" }) }, { ready: true, state: running }] },
        two,
      ),
    ],
    [
      "the error of another container rather than Completed",
      "Error",
      pod(
        {
          containerStatuses: [
            { state: terminated({ reason: "Completed" }) },
            { state: terminated({ reason: "Error", exitCode: 1 }) },
          ],
        },
        two,
      ),
    ],
    ["deletion", "Terminating", pod({ phase: "Running" }, {}, deleting)],
    ["a lost node", "Unknown", pod({ phase: "Running", reason: "NodeLost" }, {}, deleting)],
    ["a finished pod that is being deleted as finished", "Succeeded", pod({ phase: "Succeeded" }, {}, deleting)],
  ])("shows %s", (_, status, object) => {
    expect(cellOf("/Pod", "Status", object)).toBe(status);
  });

  test.each<[string, JsonObject]>([
    [
      "Init:0/2",
      {
        initContainerStatuses: [
          { name: "i", state: running },
          { name: "j", state: waiting("PodInitializing") },
        ],
      },
    ],
    [
      "Init:1/2",
      {
        initContainerStatuses: [
          { name: "i", state: terminated({ exitCode: 0 }) },
          { name: "j", state: waiting("PodInitializing") },
        ],
      },
    ],
    ["Init:CrashLoopBackOff", { initContainerStatuses: [{ name: "i", state: waiting("CrashLoopBackOff") }] }],
    ["Init:Error", { initContainerStatuses: [{ name: "i", state: terminated({ exitCode: 1, reason: "Error" }) }] }],
    ["Init:ExitCode:2", { initContainerStatuses: [{ name: "i", state: terminated({ exitCode: 2 }) }] }],
    ["Init:Signal:15", { initContainerStatuses: [{ name: "i", state: terminated({ exitCode: 143, signal: 15 }) }] }],
  ])("shows %s while init containers are unfinished", (status, fields) => {
    const waitingContainer = { name: "a", state: waiting("PodInitializing") };
    expect(
      cellOf("/Pod", "Status", pod({ phase: "Pending", ...fields, containerStatuses: [waitingContainer] }, withInit)),
    ).toBe(status);
  });

  test("depends on the release", () => {
    const failed = [
      { state: terminated({ reason: "Completed" }) },
      { state: terminated({ reason: "Error", exitCode: 1 }) },
    ];
    expect(cellOf("/Pod", "Status", pod({ containerStatuses: failed }, two), "1.34")).toBe("Completed");
    expect(cellOf("/Pod", "Status", pod({ phase: "Succeeded" }, {}, deleting), "1.30")).toBe("Terminating");
  });
});

describe("sidecar containers", () => {
  const sidecar = (fields: JsonObject): JsonObject => ({ name: "s", state: running, restartCount: 2, ...fields });

  test("count as ready containers once they have started", () => {
    const object = pod(
      {
        phase: "Running",
        initContainerStatuses: [sidecar({ started: true, ready: true })],
        containerStatuses: [{ name: "a", ready: true, state: running, restartCount: 1 }],
      },
      withSidecar,
    );
    expect(rowOf("/Pod", object).slice(1, 4)).toEqual(["2/2", "Running", "3"]);
  });

  test("keep the pod in the status Init until they have started", () => {
    const object = pod({ phase: "Pending", initContainerStatuses: [sidecar({ started: false })] }, withSidecar);
    expect(rowOf("/Pod", object).slice(1, 4)).toEqual(["0/2", "Init:0/1", "2"]);
  });

  test("do not hide the ready containers of a pod that was initialized before", () => {
    const object = pod(
      {
        phase: "Running",
        conditions: [{ type: "Initialized", status: "True" }],
        initContainerStatuses: [sidecar({ started: false, state: waiting("CrashLoopBackOff") })],
        containerStatuses: [{ name: "a", ready: true, state: running }],
      },
      withSidecar,
    );
    expect(rowOf("/Pod", object).slice(1, 4)).toEqual(["1/2", "Init:CrashLoopBackOff", "2"]);
  });
});

test("restarts of finished init containers are not counted, and the time of the latest restart is shown", () => {
  const lastState = (seconds: number): JsonObject => terminated({ finishedAt: secondsAgo(seconds) });
  const object = pod(
    {
      initContainerStatuses: [
        { name: "i", restartCount: 9, state: terminated({ exitCode: 0 }), lastState: lastState(10) },
      ],
      containerStatuses: [
        { state: running, ready: true, restartCount: 1, lastState: lastState(7_200) },
        { state: running, ready: true, restartCount: 4, lastState: lastState(90) },
      ],
    },
    two,
  );
  expect(cellOf("/Pod", "Restarts", object)).toBe("5 (90s ago)");
  expect(cellOf("/Pod", "Restarts", pod({ containerStatuses: [{ restartCount: 2 }] }))).toBe("2");
});

test("rows of finished pods are marked as completed", () => {
  const { conditions } = rendererOf("/Pod");
  expect(conditions?.(pod({ phase: "Succeeded" }))).toMatchObject([
    { type: "Completed", status: "True", reason: "Succeeded" },
  ]);
  expect(conditions?.(pod({ phase: "Failed" }))).toMatchObject([
    { type: "Completed", status: "True", reason: "Failed" },
  ]);
  expect(conditions?.(pod({ phase: "Running" }))).toEqual([]);
  expect(rendererOf("batch/Job").conditions).toBeUndefined();
});

test("a pod template shows its containers, images and labels", () => {
  const template = {
    metadata: { labels: { b: "2", a: "1" } },
    spec: {
      containers: [
        { name: "a", image: "i:1" },
        { name: "b", image: "j" },
      ],
    },
  };
  expect(rowOf("/PodTemplate", { template })).toEqual(["x", "a,b", "i:1,j", "a=1,b=2"]);
  expect(rowOf("/PodTemplate", {})).toEqual(["x", "", "", "<none>"]);
});
