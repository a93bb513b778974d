import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../../meta/json.ts";
import { container, CONTEXT, pod } from "../../../../../test/testing/objects/kinds/pods/pods.ts";
import { podTemplateWarnings, podWarnings } from "./pod-warnings.ts";

function warnings(spec: JsonObject, metadata: JsonObject = {}): string[] {
  return [...podWarnings(pod(spec, metadata), CONTEXT)];
}

test("a minimal pod causes no warnings", () => {
  expect(warnings({})).toEqual([]);
});

describe("a pod causes a warning about", () => {
  test.each<[spec: JsonObject, expected: string[]]>([
    [
      { nodeSelector: { "beta.kubernetes.io/os": "linux" } },
      ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ],
    [
      container({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "2" },
          { name: "A", value: "$(A)3" },
        ],
      }),
      ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
    ],
    [
      container({ resources: { requests: { memory: "100m" } } }),
      ['spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer'],
    ],
    [
      container({ resources: { requests: { memory: "1Ei" } } }),
      ['spec.containers[0].resources.requests[memory]: fractional byte value "1Ei" is invalid, must be an integer'],
    ],
    [
      container({ ports: [{ containerPort: 80 }, { containerPort: 80 }] }),
      ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
    ],
    [
      container({ ports: [{ containerPort: 80, hostIP: "10.0.0.1" }] }),
      [
        "spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}",
      ],
    ],
    [
      {
        containers: [
          { name: "a", image: "a", ports: [{ name: "http", containerPort: 1 }] },
          { name: "b", image: "b", ports: [{ name: "http", containerPort: 2 }] },
        ],
      },
      [
        'spec.containers[1].ports[0]: duplicate port name "http" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
      ],
    ],
    [
      { volumes: [{ name: "v", gitRepo: { repository: "r" } }] },
      ["spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
    ],
    [
      {
        volumes: [
          {
            name: "v",
            configMap: {
              name: "c",
              items: [
                { key: "a", path: "x" },
                { key: "b", path: "x/y" },
              ],
            },
          },
        ],
      },
      ['volume "v" (ConfigMap "c"): overlapping paths: "x/y" with "x"'],
    ],
    [{ imagePullSecrets: [{}] }, ['spec.imagePullSecrets[0].name: invalid empty name ""']],
    [
      { topologySpreadConstraints: [{ topologyKey: "zone" }] },
      ["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
    ],
    [
      { hostAliases: [{ ip: "FD00::1" }] },
      ['spec.hostAliases[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")'],
    ],
  ])("the spec %j", (spec, expected) => {
    expect(warnings(spec)).toEqual(expected);
  });

  test("a name that is not a valid hostname", () => {
    expect(warnings({}, { name: "a.b" })).toEqual([
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ]);
  });

  test("annotations without effect", () => {
    expect(warnings({}, { annotations: { "seccomp.security.alpha.kubernetes.io/pod": "unconfined" } })).toEqual([
      'metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead',
    ]);
  });
});

test("warnings about a pod template begin with the path of the template", () => {
  const template = { spec: objectAt(pod({ imagePullSecrets: [{}] }), "spec") };
  expect([...podTemplateWarnings(template, "spec.template", CONTEXT)]).toEqual([
    'spec.template.spec.imagePullSecrets[0].name: invalid empty name ""',
  ]);
});

test("a pod causes at most a hundred warnings", () => {
  const ports = Array.from({ length: 20_000 }, () => ({ containerPort: 80 }));
  expect(warnings(container({ ports }))).toHaveLength(100);
});
