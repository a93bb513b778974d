import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { container, CONTEXT, pod, release, messagesOf } from "../../../../../test/testing/objects/kinds/pods/pods.ts";
import { podCreateErrors } from "./pod-rules.ts";

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

function errors(spec: JsonObject, context = CONTEXT): string[] {
  return messagesOf(podCreateErrors(pod(spec, {}, context), context));
}

test("a minimal pod and a pod with many features are valid", () => {
  expect(errors({})).toEqual([]);
  expect(
    errors({
      volumes: [{ name: "data" }, { name: "claim", persistentVolumeClaim: { claimName: "c" } }],
      initContainers: [{ name: "side", image: "s", restartPolicy: "Always", startupProbe: { tcpSocket: { port: 1 } } }],
      ...container({
        ports: [{ name: "http", containerPort: 80 }],
        env: [
          { name: "A", value: "1" },
          { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        ],
        envFrom: [{ prefix: "P_", configMapRef: { name: "c" } }],
        volumeMounts: [{ name: "data", mountPath: "/data", subPath: "x" }],
        volumeDevices: [{ name: "claim", devicePath: "/dev/x" }],
        lifecycle: { preStop: { sleep: { seconds: 5 } } },
        resources: { requests: { cpu: "1", "example.com/gpu": "1" }, limits: { "example.com/gpu": "1" } },
        securityContext: { runAsUser: 0, seccompProfile: { type: "RuntimeDefault" } },
      }),
      tolerations: [{ operator: "Exists" }],
      hostAliases: [{ ip: "10.0.0.1", hostnames: ["a.b"] }],
      os: { name: "linux" },
    }),
  ).toEqual([]);
});

describe("container lists", () => {
  test.each<[spec: JsonObject, expected: string[]]>([
    [{ containers: [] }, ["spec.containers: Required value"]],
    [{ containers: [{}] }, ["spec.containers[0].name: Required value", "spec.containers[0].image: Required value"]],
    [container({ name: "A" }), [`spec.containers[0].name: Invalid value: "A": ${LABEL}`]],
    [
      container({ image: " x" }),
      ['spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace'],
    ],
    [
      {
        containers: [
          { name: "c", image: "a" },
          { name: "c", image: "b" },
        ],
      },
      ['spec.containers[1].name: Duplicate value: "c"'],
    ],
    [{ initContainers: [{ name: "c", image: "a" }] }, ['spec.initContainers[0].name: Duplicate value: "c"']],
    [
      container({ imagePullPolicy: "Sometimes" }),
      [
        'spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
      ],
    ],
    [
      { ephemeralContainers: [{ name: "e", image: "e" }] },
      ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
    ],
    [
      { initContainers: [{ name: "i", image: "i", livenessProbe: { exec: { command: ["x"] } } }] },
      [
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
      ],
    ],
  ])("of %j have the expected errors", (spec, expected) => {
    expect(errors(spec)).toEqual(expected);
  });

  test("may have a container with a restart policy only in releases that support it", () => {
    const why = "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers";
    expect(errors(container({ restartPolicy: "Never" }), release("1.33"))).toEqual([why]);
    expect(errors(container({ restartPolicy: "Never" }))).toEqual([]);
    expect(errors(container({ restartPolicy: "Later", restartPolicyRules: [{ action: "Wait" }] }))).toEqual([
      'spec.containers[0].restartPolicy: Unsupported value: "Later": supported values: "Always", "Never", "OnFailure"',
      'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Wait": supported values: "Restart", "RestartAllContainers"',
      "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
    ]);
  });
});

describe("a container", () => {
  test.each<[more: JsonObject, expected: string[]]>([
    [
      {
        ports: [
          { name: "HTTP", containerPort: 0 },
          { containerPort: 70_000, protocol: "ICMP" },
        ],
      },
      [
        'ports[0].name: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'ports[0].name: Invalid value: "HTTP": must contain at least one letter (a-z)',
        "ports[0].containerPort: Required value",
        "ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      ],
    ],
    [
      {
        ports: [
          { containerPort: 1, hostPort: 9 },
          { containerPort: 2, hostPort: 9 },
        ],
      },
      ['ports[1].hostPort: Duplicate value: "TCP//9"'],
    ],
    [
      { env: [{ name: "" }, { name: "A=B" }, { name: "A", valueFrom: {} }] },
      [
        "env[0].name: Required value",
        "env[1].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII characters other than '='",
        'env[2].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      { env: [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.owner" } } }] },
      [
        'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.owner": error converting fieldPath: field label not supported: metadata.owner',
        'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
      ],
    ],
    [
      { env: [{ name: "A", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "3" } } }] },
      [
        'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [{ envFrom: [{}] }, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']],
    [
      {
        volumeMounts: [
          { name: "none", mountPath: "/a" },
          { name: "", mountPath: "" },
        ],
      },
      [
        'volumeMounts[0].name: Not found: "none"',
        "volumeMounts[1].name: Required value",
        'volumeMounts[1].name: Not found: ""',
        "volumeMounts[1].mountPath: Required value",
      ],
    ],
    [{ livenessProbe: {} }, ["livenessProbe: Required value: must specify a handler type"]],
    [
      { livenessProbe: { exec: {}, tcpSocket: { port: 1 }, successThreshold: 2, periodSeconds: -1 } },
      [
        "livenessProbe.exec.command: Required value",
        "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
        "livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        "livenessProbe.successThreshold: Invalid value: 2: must be 1",
      ],
    ],
    [
      { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
      [
        "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
      ],
    ],
  ])("with %j has the expected errors", (more, expected) => {
    expect(errors(container(more))).toEqual(expected.map((error) => `spec.containers[0].${error}`));
  });
});

describe("the resources of a container", () => {
  test.each<[resources: JsonObject, expected: string[]]>([
    [
      { requests: { cpu: "2" }, limits: { cpu: "1" } },
      ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [{ requests: { cpu: "-1" } }, ['requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']],
    [
      { requests: { wood: "1" } },
      [
        'requests[wood]: Invalid value: "wood": must be a standard resource type or fully qualified',
        'requests[wood]: Invalid value: "wood": must be a standard resource for containers',
      ],
    ],
    [
      { requests: { "example.com/gpu": "1" } },
      ["limits: Required value: Limit must be set for non overcommitable resources"],
    ],
    [
      { limits: { "example.com/gpu": "500m" } },
      [
        'limits[example.com/gpu]: Invalid value: "500m": must be an integer',
        'requests[example.com/gpu]: Invalid value: "500m": must be an integer',
      ],
    ],
    [
      { claims: [{ name: "c" }] },
      ['claims[0]: Not found: "c": must be one of the names in pod.spec.resourceClaims which is empty'],
    ],
  ])("%j have the expected errors", (resources, expected) => {
    expect(errors(container({ resources }))).toEqual(expected.map((error) => `spec.containers[0].resources.${error}`));
  });
});

describe("a pod spec", () => {
  test.each<[spec: JsonObject, expected: string[]]>([
    [
      { restartPolicy: "Maybe" },
      ['spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"'],
    ],
    [{ dnsPolicy: "None" }, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]],
    [
      { dnsConfig: { nameservers: ["1.2.3"] } },
      [
        'spec.dnsConfig.nameservers[0]: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    ],
    [
      { hostAliases: [{ ip: "010.0.0.1" }] },
      ['spec.hostAliases[0].ip: Invalid value: "010.0.0.1": must not have leading 0s'],
    ],
    [
      { activeDeadlineSeconds: 0 },
      ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    ],
    [{ hostname: "A" }, [`spec.hostname: Invalid value: "A": ${LABEL}`]],
    [
      { tolerations: [{ effect: "Never" }] },
      [
        'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
        'spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    [
      { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } },
      [
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
      ],
    ],
    [
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "", whenUnsatisfiable: "X", minDomains: 1 }] },
      [
        "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
        "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
        'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
        "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not X",
      ],
    ],
  ])("with %j has the expected errors", (spec, expected) => {
    expect(errors(spec)).toEqual(expected);
  });
});

describe("a pod spec", () => {
  test.each<[spec: JsonObject, expected: string[]]>([
    [
      { schedulingGates: [{ name: "g" }, { name: "g" }], nodeName: "n" },
      [
        'spec.schedulingGates[1]: Duplicate value: "g"',
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
      ],
    ],
    [
      { resourceClaims: [{ name: "r" }] },
      [
        'spec.resourceClaims[0]: Invalid value: {"Name":"r","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ],
    ],
    [{ os: { name: "dos" } }, ['spec.os: Unsupported value: "dos": supported values: "linux", "windows"']],
    [{ os: { name: "windows" }, hostPID: true }, ["spec.hostPID: Forbidden: cannot be set for a windows pod"]],
    [
      { securityContext: { runAsUser: -1, sysctls: [{ name: "Bad" }] } },
      [
        "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
        'spec.securityContext.sysctls[0].name: Invalid value: "Bad": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
      ],
    ],
    [
      { overhead: { wood: "1" } },
      [
        'spec.overhead.limits[wood]: Invalid value: "wood": must be a standard resource type or fully qualified',
        'spec.overhead.limits[wood]: Invalid value: "wood": must be a standard resource for containers',
      ],
    ],
    [
      { resources: { limits: { cpu: "1" } }, ...container({ resources: { limits: { cpu: "2" } } }) },
      [
        'spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
      ],
    ],
  ])("with %j has the expected errors", (spec, expected) => {
    expect(errors(spec)).toEqual(expected);
  });

  test("shows the internal type of a container's security context in errors", () => {
    const securityContext = { privileged: true, allowPrivilegeEscalation: false };
    expect(errors(container({ securityContext }))).toEqual([
      'spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ]);
  });
});

test("errors about a pod spec are generated lazily", () => {
  const env = Array.from({ length: 50_000 }, () => ({ name: "" }));
  expect([...Iterator.from(podCreateErrors(pod(container({ env })), CONTEXT)).take(3)]).toHaveLength(3);
});
