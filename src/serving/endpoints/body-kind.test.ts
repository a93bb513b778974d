import { expect, test } from "vitest";
import { formatGroupVersion, type GroupVersion } from "../../meta/group-version.ts";
import type { ServedResource } from "../registry/resource.ts";
import { otherKind } from "./body-kind.ts";

const KNOWN: ReadonlySet<string> = new Set([
  ...["v1/ConfigMap", "v1/Pod", "v1/Event", "events.k8s.io/v1/Event", "apps/v1/Deployment"],
  ...["autoscaling/v1/HorizontalPodAutoscaler", "autoscaling/v2/HorizontalPodAutoscaler"],
  ...["apiextensions.k8s.io/v1/CustomResourceDefinition", "apiextensions.k8s.io/v1beta1/CustomResourceDefinition"],
]);

function served(groupVersion: GroupVersion, kind: string): ServedResource {
  const schemaOf = (asked: GroupVersion, of = kind): unknown =>
    KNOWN.has(`${formatGroupVersion(asked)}/${of}`) ? {} : undefined;
  return { groupVersion, apiVersion: formatGroupVersion(groupVersion), kind, schemaOf } as unknown as ServedResource;
}

const CONFIG_MAP = served({ group: "", version: "v1" }, "ConfigMap");
const EVENT = served({ group: "events.k8s.io", version: "v1" }, "Event");
const AUTOSCALER = served({ group: "autoscaling", version: "v2" }, "HorizontalPodAutoscaler");
const DEFINITION = served({ group: "apiextensions.k8s.io", version: "v1" }, "CustomResourceDefinition");
const LEGACY = '"pkg/api/legacyscheme/scheme.go:30"';
const EXTENSIONS = '"k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"';

test("a body of the served kind is accepted", () => {
  expect(otherKind(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap" })).toBeUndefined();
});

test.each([
  [CONFIG_MAP, "v1", "Pod", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"],
  [CONFIG_MAP, "apps/v1", "Deployment", "converting (v1.Deployment) to (core.ConfigMap): unknown conversion"],
  [EVENT, "apps/v1", "Deployment", "converting (v1.Deployment) to (core.Event): unknown conversion"],
  [CONFIG_MAP, "v1", "List", "converting (v1.List) to (core.ConfigMap): unknown conversion"],
  [
    ...([DEFINITION, "v1", "DeleteOptions"] as const),
    "converting (v1.DeleteOptions) to (apiextensions.CustomResourceDefinition): unknown conversion",
  ],
  [
    ...([CONFIG_MAP, "apiextensions.k8s.io/v1", "CustomResourceDefinition"] as const),
    `no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1" in scheme ${LEGACY}`,
  ],
  [CONFIG_MAP, "v2", "ConfigMap", `no kind "ConfigMap" is registered for version "v2" in scheme ${LEGACY}`],
  [CONFIG_MAP, "v1", "Nope", `no kind "Nope" is registered for version "v1" in scheme ${LEGACY}`],
  [DEFINITION, "v1", "Pod", `no kind "Pod" is registered for version "v1" in scheme ${EXTENSIONS}`],
])("%# a body of another kind is reported as a wrong kind", (wanted, apiVersion, kind, why) => {
  expect(otherKind(wanted, { apiVersion, kind })).toEqual({ is: "kind", why });
});

test("a body with a malformed apiVersion is reported as malformed", () => {
  const why = "unexpected GroupVersion string: a/b/c";
  expect(otherKind(CONFIG_MAP, { apiVersion: "a/b/c", kind: "ConfigMap" })).toEqual({ is: "malformed", why });
});

test.each([
  [AUTOSCALER, "autoscaling/v1"],
  [EVENT, "v1"],
  [DEFINITION, "apiextensions.k8s.io/v1beta1"],
])("%# a body of the served kind in another API version is reported as a wrong version", (wanted, apiVersion) => {
  expect(otherKind(wanted, { apiVersion, kind: wanted.kind })).toEqual({
    is: "version",
    why: `the API version in the data (${apiVersion}) does not match the expected API version (${wanted.apiVersion})`,
  });
});
