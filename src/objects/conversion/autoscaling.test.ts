import { describe, expect, test } from "vitest";
import { convertObject } from "./convert.ts";
import type { JsonObject } from "../../meta/json.ts";

const v1 = { group: "autoscaling", version: "v1" };
const v2 = { group: "autoscaling", version: "v2" };
const v2beta1 = { group: "autoscaling", version: "v2beta1" };
const v2beta2 = { group: "autoscaling", version: "v2beta2" };

const PREFIX = "autoscaling.alpha.kubernetes.io";
const scaleTargetRef = { kind: "Deployment", name: "web", apiVersion: "apps/v1" };
const cpuMetric = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
};

function autoscaler(
  version: string,
  parts: { spec: JsonObject; status?: JsonObject; annotations?: JsonObject },
): JsonObject {
  const { spec, status, annotations } = parts;
  return {
    kind: "HorizontalPodAutoscaler",
    apiVersion: `autoscaling/${version}`,
    metadata: { name: "web", ...(annotations && { annotations }) },
    spec: { scaleTargetRef, minReplicas: 1, maxReplicas: 5, ...spec },
    ...(status && { status }),
  };
}

describe("autoscaling/v1", () => {
  test("converts its CPU percentage to a resource metric of v2, and back", () => {
    const first = autoscaler("v1", {
      spec: { targetCPUUtilizationPercentage: 60 },
      status: { currentReplicas: 2, desiredReplicas: 3, currentCPUUtilizationPercentage: 75 },
    });
    const second = autoscaler("v2", {
      spec: { metrics: [cpuMetric] },
      status: {
        currentReplicas: 2,
        desiredReplicas: 3,
        currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: 75 } } }],
      },
    });
    expect(convertObject(first, v1, v2)).toEqual(second);
    expect(convertObject(second, v2, v1)).toEqual(first);
  });

  test("is converted to the default CPU metric of v2 if it has no metric", () => {
    const converted = convertObject(autoscaler("v1", { spec: {} }), v1, v2);
    const target = { type: "Utilization", averageUtilization: 80 };
    expect(converted["spec"]).toHaveProperty("metrics", [{ type: "Resource", resource: { name: "cpu", target } }]);
  });

  test("encodes an empty status as Go does", () => {
    const first = autoscaler("v1", {
      spec: { targetCPUUtilizationPercentage: 60 },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    });
    const second = autoscaler("v2", {
      spec: { metrics: [cpuMetric] },
      status: { currentMetrics: null, desiredReplicas: 0 },
    });
    expect(convertObject(first, v1, v2)).toEqual(second);
    expect(convertObject(second, v2, v1)).toEqual(first);
  });

  const metricCases: readonly [string, JsonObject, string][] = [
    [
      "resource by value",
      { type: "Resource", resource: { name: "memory", target: { type: "AverageValue", averageValue: "100Mi" } } },
      '{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}}',
    ],
    [
      "container resource",
      {
        type: "ContainerResource",
        containerResource: { name: "cpu", container: "app", target: { type: "Utilization", averageUtilization: 50 } },
      },
      '{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageUtilization":50,"container":"app"}}',
    ],
    [
      "pods",
      {
        type: "Pods",
        pods: {
          metric: { name: "rps", selector: { matchLabels: { a: "<b>" } } },
          target: { type: "AverageValue", averageValue: "1k" },
        },
      },
      '{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k","selector":{"matchLabels":{"a":"\\u003cb\\u003e"}}}}',
    ],
    [
      "object by value",
      {
        type: "Object",
        object: {
          describedObject: { kind: "Ingress", name: "main", apiVersion: "networking.k8s.io/v1" },
          metric: { name: "rps" },
          target: { type: "Value", value: "2k" },
        },
      },
      '{"type":"Object","object":{"target":{"kind":"Ingress","name":"main","apiVersion":"networking.k8s.io/v1"},"metricName":"rps","targetValue":"2k"}}',
    ],
    [
      "object by average",
      {
        type: "Object",
        object: {
          describedObject: { kind: "Ingress", name: "main" },
          metric: { name: "rps" },
          target: { type: "AverageValue", averageValue: "10" },
        },
      },
      '{"type":"Object","object":{"target":{"kind":"Ingress","name":"main"},"metricName":"rps","targetValue":"0","averageValue":"10"}}',
    ],
    [
      "external",
      {
        type: "External",
        external: {
          metric: { name: "queue", selector: { matchLabels: { q: "a" } } },
          target: { type: "Value", value: "30" },
        },
      },
      '{"type":"External","external":{"metricName":"queue","metricSelector":{"matchLabels":{"q":"a"}},"targetValue":"30"}}',
    ],
  ];

  test.each(metricCases)("stores a metric of %s in the annotation that kube-apiserver uses", (_name, metric, text) => {
    const first = autoscaler("v1", {
      spec: { targetCPUUtilizationPercentage: 60 },
      annotations: { mine: "kept", [`${PREFIX}/metrics`]: `[${text}]` },
    });
    const second = autoscaler("v2", { spec: { metrics: [metric, cpuMetric] }, annotations: { mine: "kept" } });
    expect(convertObject(first, v1, v2)).toEqual(second);
    expect(convertObject(second, v2, v1)).toEqual(first);
  });

  test("stores behavior, conditions and measured metrics in annotations", () => {
    const conditions = [
      { type: "AbleToScale", status: "True", lastTransitionTime: "2024-05-01T10:00:00Z", reason: "ReadyForNewScale" },
    ];
    const second = autoscaler("v2", {
      spec: {
        metrics: [cpuMetric],
        behavior: {
          scaleDown: { stabilizationWindowSeconds: 60, policies: [{ type: "Pods", value: 4, periodSeconds: 15 }] },
        },
      },
      status: {
        currentReplicas: 1,
        desiredReplicas: 1,
        currentMetrics: [
          { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 7, averageValue: "14m" } } },
          { type: "External", external: { metric: { name: "queue" }, current: { averageValue: "3" } } },
        ],
        conditions,
      },
    });
    const first = autoscaler("v1", {
      spec: { targetCPUUtilizationPercentage: 60 },
      status: { currentReplicas: 1, desiredReplicas: 1, currentCPUUtilizationPercentage: 7 },
      annotations: {
        [`${PREFIX}/current-metrics`]:
          '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,"currentAverageValue":"14m"}},' +
          '{"type":"External","external":{"metricName":"queue","currentAverageValue":"3"}}]',
        [`${PREFIX}/conditions`]: JSON.stringify(conditions),
        [`${PREFIX}/behavior`]:
          '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":null,' +
          '"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null}}',
      },
    });
    expect(convertObject(second, v2, v1)).toEqual(first);
    expect(convertObject(first, v1, v2)).toEqual(second);
  });

  test("keeps a second CPU metric, and puts the first one last when it is converted back to v2", () => {
    const another = {
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 90 } },
    };
    const before = autoscaler("v2", { spec: { metrics: [cpuMetric, another] } });
    const after = convertObject(convertObject(before, v2, v1), v1, v2);
    expect(after).toEqual(autoscaler("v2", { spec: { metrics: [another, cpuMetric] } }));
  });

  test.each(["not json", "{}", "[1]", `${"[".repeat(2000)}${"]".repeat(2000)}`])(
    "treats invalid annotations (%.10s) as absent",
    (text) => {
      const annotations = Object.fromEntries(
        ["metrics", "current-metrics", "conditions", "behavior"].map((name) => [`${PREFIX}/${name}`, text]),
      );
      const first = autoscaler("v1", { spec: { targetCPUUtilizationPercentage: 60 }, annotations });
      expect(convertObject(first, v1, v2)).toEqual(autoscaler("v2", { spec: { metrics: [cpuMetric] } }));
    },
  );

  test("drops the annotations of a v2 object that encode fields", () => {
    const annotations = { [`${PREFIX}/behavior`]: '{"ScaleUp":{"SelectPolicy":"Max"}}' };
    const second = autoscaler("v2", { spec: { metrics: [cpuMetric] }, annotations });
    expect(convertObject(second, v2, v1)).toEqual(autoscaler("v1", { spec: { targetCPUUtilizationPercentage: 60 } }));
  });
});

describe("in autoscaling", () => {
  test("v2beta1 has flat metrics and stores behavior in an annotation", () => {
    const first = autoscaler("v2beta1", {
      spec: { metrics: [{ type: "Resource", resource: { name: "cpu", targetAverageUtilization: 60 } }] },
      annotations: {
        [`${PREFIX}/behavior`]:
          '{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":null,"Tolerance":null},"ScaleDown":null}',
      },
    });
    const second = autoscaler("v2", { spec: { metrics: [cpuMetric], behavior: { scaleUp: { selectPolicy: "Max" } } } });
    expect(convertObject(first, v2beta1, v2)).toEqual(second);
    expect(convertObject(second, v2, v2beta1)).toEqual(first);
  });

  test("v2beta2 stores tolerances in annotations", () => {
    const first = autoscaler("v2beta2", {
      spec: { metrics: [cpuMetric], behavior: { scaleUp: { selectPolicy: "Max" }, scaleDown: {} } },
      annotations: { [`${PREFIX}/scale-up-tolerance`]: "50m", [`${PREFIX}/scale-down-tolerance`]: "1" },
    });
    const behavior = { scaleUp: { selectPolicy: "Max", tolerance: "50m" }, scaleDown: { tolerance: "1" } };
    const second = autoscaler("v2", { spec: { metrics: [cpuMetric], behavior } });
    expect(convertObject(first, v2beta2, v2)).toEqual(second);
    expect(convertObject(second, v2, v2beta2)).toEqual(first);
  });
});
