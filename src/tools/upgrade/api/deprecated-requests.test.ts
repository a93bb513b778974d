import { expect, test } from "vitest";
import { deprecatedRequests } from "./deprecated-requests.ts";

test("requests to deprecated APIs are read from the metrics of kube-apiserver, and other metrics are not", () => {
  const metrics = [
    "# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested",
    "# TYPE apiserver_requested_deprecated_apis gauge",
    'apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1',
    'apiserver_requested_deprecated_apis{group="storage.k8s.io",removed_release="1.37",resource="a\\"b",subresource="status",version="v1beta1"} 1',
    'other{x="apiserver_requested_deprecated_apis{"} 1',
    "",
  ].join("\n");
  expect(deprecatedRequests(metrics)).toEqual([
    { group: "", version: "v1", resource: "endpoints", subresource: "", removedRelease: "" },
    { group: "storage.k8s.io", version: "v1beta1", resource: 'a\\"b', subresource: "status", removedRelease: "1.37" },
  ]);
  expect(deprecatedRequests("")).toEqual([]);
});
