import { describe, expect, test } from "vitest";
import { startServer } from "../../../../test/api/start.ts";
import { apiOf, type FakedResponse } from "../../../../test/testing/tools/upgrade/api-of-server.ts";
import { apiResources } from "./api-resources.ts";

const ABSENT: FakedResponse = { status: 404, text: "{}" };

async function resourcesOf(documents: Readonly<Record<string, object>>): ReturnType<typeof apiResources> {
  const server = await startServer({});
  const requests = apiOf(server, ({ target }) => {
    const document = documents[target.split("?")[0]!];
    return document === undefined ? ABSENT : { status: 200, text: JSON.stringify(document) };
  });
  return apiResources(requests);
}

const listed = (name: string, kind: string, verbs = ["get", "list"]): object => ({
  name,
  kind,
  verbs,
  namespaced: true,
});

describe("the stored resources of an API", () => {
  test("are found in the discovery of a server older than 1.26, in the preferred version of each group", async () => {
    const { resources } = await resourcesOf({
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/api/v1": {
        groupVersion: "v1",
        resources: [
          listed("services", "Service"),
          listed("services/status", "Service"),
          listed("bindings", "Binding", ["create"]),
        ],
      },
      "/apis": {
        kind: "APIGroupList",
        groups: [
          {
            name: "autoscaling",
            preferredVersion: { groupVersion: "autoscaling/v2" },
            versions: [{ groupVersion: "autoscaling/v1" }, { groupVersion: "autoscaling/v2" }],
          },
        ],
      },
      "/apis/autoscaling/v1": {
        groupVersion: "autoscaling/v1",
        resources: [listed("horizontalpodautoscalers", "HorizontalPodAutoscaler")],
      },
      "/apis/autoscaling/v2": {
        groupVersion: "autoscaling/v2",
        resources: [listed("horizontalpodautoscalers", "HorizontalPodAutoscaler")],
      },
    });
    expect(resources.map(({ group, version, place }) => `${group}/${version} ${place}`)).toEqual([
      "/v1 services/specs",
      "autoscaling/v2 horizontalpodautoscalers",
    ]);
  });

  test("do not include those of aggregated APIs, which are named, nor a second group of the same objects", async () => {
    const { resources, aggregated } = await resourcesOf({
      "/apis/apiregistration.k8s.io/v1/apiservices": {
        items: [
          { spec: { group: "metrics.k8s.io", version: "v1beta1", service: { name: "metrics-server" } } },
          { spec: { group: "apps", version: "v1" } },
        ],
      },
      "/apis": {
        kind: "APIGroupList",
        groups: ["metrics.k8s.io/v1beta1", "events.k8s.io/v1", "shop.example/v1"].map((groupVersion) => ({
          versions: [{ groupVersion }],
        })),
      },
      "/apis/metrics.k8s.io/v1beta1": {
        groupVersion: "metrics.k8s.io/v1beta1",
        resources: [listed("pods", "PodMetrics")],
      },
      "/apis/events.k8s.io/v1": { groupVersion: "events.k8s.io/v1", resources: [listed("events", "Event")] },
      "/apis/shop.example/v1": { groupVersion: "shop.example/v1", resources: [listed("widgets", "Widget")] },
    });
    expect(aggregated).toEqual(["metrics.k8s.io/v1beta1"]);
    expect(resources.map(({ place }) => place)).toEqual(["shop.example/widgets"]);
  });
});
