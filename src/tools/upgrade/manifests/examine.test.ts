import { describe, expect, test } from "vitest";
import { EMPTY_RUNTIME_CONFIG, parseRuntimeConfig } from "../../../objects/catalog/runtime-config.ts";
import { RELEASES } from "../../../objects/catalog/release.ts";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { formatGroupVersion } from "../../../meta/group-version.ts";
import type { UpgradeFinding } from "../finding.ts";
import { manifestFindings } from "./examine.ts";
import { apisOfKind, kubernetesKinds, minorOf } from "./known-apis.ts";
import { readManifests } from "./read-manifests.ts";

interface How {
  readonly from?: string;
  readonly to?: string | readonly string[];
  readonly runtimeConfig?: string;
}

function findingsIn(text: string, { from, to = "1.37", runtimeConfig = "" }: How = {}): readonly UpgradeFinding[] {
  return manifestFindings(readManifests([{ path: "a.yaml", text }]), {
    from: from === undefined ? undefined : minorOf(from),
    to: [to].flat().map(minorOf),
    runtimeConfig: runtimeConfig === "" ? EMPTY_RUNTIME_CONFIG : parseRuntimeConfig(runtimeConfig),
  });
}

function object(apiVersion: string, kind: string, more = ""): string {
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: it, namespace: shop}\n${more}`;
}

/** The list that Kubernetes publishes in its deprecation guide: API version, kinds, release, and the new API version. */
const PUBLISHED: readonly (readonly [apiVersion: string, kinds: string, removed: string, to: string])[] = [
  ["extensions/v1beta1", "NetworkPolicy", "1.16", "networking.k8s.io/v1"],
  ["extensions/v1beta1", "DaemonSet Deployment ReplicaSet", "1.16", "apps/v1"],
  ["extensions/v1beta1", "PodSecurityPolicy", "1.16", ""],
  ["apps/v1beta2", "DaemonSet Deployment StatefulSet ReplicaSet", "1.16", "apps/v1"],
  ["apps/v1beta1", "Deployment StatefulSet", "1.16", "apps/v1"],
  [
    "admissionregistration.k8s.io/v1beta1",
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    "1.22",
    "admissionregistration.k8s.io/v1",
  ],
  ["apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", "1.22", "apiextensions.k8s.io/v1"],
  ["apiregistration.k8s.io/v1beta1", "APIService", "1.22", "apiregistration.k8s.io/v1"],
  ["authentication.k8s.io/v1beta1", "TokenReview", "1.22", "authentication.k8s.io/v1"],
  [
    "authorization.k8s.io/v1beta1",
    "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview SelfSubjectRulesReview",
    "1.22",
    "authorization.k8s.io/v1",
  ],
  ["certificates.k8s.io/v1beta1", "CertificateSigningRequest", "1.22", "certificates.k8s.io/v1"],
  ["coordination.k8s.io/v1beta1", "Lease", "1.22", "coordination.k8s.io/v1"],
  ["extensions/v1beta1", "Ingress", "1.22", "networking.k8s.io/v1"],
  ["networking.k8s.io/v1beta1", "Ingress IngressClass", "1.22", "networking.k8s.io/v1"],
  [
    "rbac.authorization.k8s.io/v1beta1",
    "ClusterRole ClusterRoleBinding Role RoleBinding",
    "1.22",
    "rbac.authorization.k8s.io/v1",
  ],
  ["scheduling.k8s.io/v1beta1", "PriorityClass", "1.22", "scheduling.k8s.io/v1"],
  ["storage.k8s.io/v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment", "1.22", "storage.k8s.io/v1"],
  ["batch/v1beta1", "CronJob", "1.25", "batch/v1"],
  ["discovery.k8s.io/v1beta1", "EndpointSlice", "1.25", "discovery.k8s.io/v1"],
  ["events.k8s.io/v1beta1", "Event", "1.25", "events.k8s.io/v1"],
  ["autoscaling/v2beta1", "HorizontalPodAutoscaler", "1.25", "autoscaling/v2"],
  ["policy/v1beta1", "PodDisruptionBudget", "1.25", "policy/v1"],
  ["policy/v1beta1", "PodSecurityPolicy", "1.25", ""],
  ["node.k8s.io/v1beta1", "RuntimeClass", "1.25", "node.k8s.io/v1"],
  [
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "FlowSchema PriorityLevelConfiguration",
    "1.26",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler", "1.26", "autoscaling/v2"],
  ["storage.k8s.io/v1beta1", "CSIStorageCapacity", "1.27", "storage.k8s.io/v1"],
  [
    "flowcontrol.apiserver.k8s.io/v1beta2",
    "FlowSchema PriorityLevelConfiguration",
    "1.29",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
  [
    "flowcontrol.apiserver.k8s.io/v1beta3",
    "FlowSchema PriorityLevelConfiguration",
    "1.32",
    "flowcontrol.apiserver.k8s.io/v1",
  ],
];

/** Removals of later releases, and of alpha versions, which the guide does not list. */
const OTHERS: typeof PUBLISHED = [
  ["auditregistration.k8s.io/v1alpha1", "AuditSink", "1.19", ""],
  ["settings.k8s.io/v1alpha1", "PodPreset", "1.20", ""],
  ["batch/v2alpha1", "CronJob", "1.21", "batch/v1"],
  ["rbac.authorization.k8s.io/v1alpha1", "Role RoleBinding", "1.23", "rbac.authorization.k8s.io/v1"],
  ["resource.k8s.io/v1alpha1", "PodScheduling ResourceClass", "1.27", ""],
  ["networking.k8s.io/v1alpha1", "ClusterCIDR", "1.29", ""],
  ["resource.k8s.io/v1alpha2", "ResourceClass PodSchedulingContext ResourceClaimParameters", "1.31", ""],
  ["resource.k8s.io/v1alpha2", "ResourceClaim ResourceClaimTemplate", "1.31", "resource.k8s.io/v1"],
  ["resource.k8s.io/v1alpha3", "PodSchedulingContext", "1.32", ""],
  ["authentication.k8s.io/v1beta1", "SelfSubjectReview", "1.33", "authentication.k8s.io/v1"],
  [
    "admissionregistration.k8s.io/v1beta1",
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "1.34",
    "admissionregistration.k8s.io/v1",
  ],
  ["resource.k8s.io/v1alpha3", "DeviceClass ResourceClaim ResourceSlice", "1.34", "resource.k8s.io/v1"],
  ["networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", "1.37", "networking.k8s.io/v1"],
  ["storage.k8s.io/v1beta1", "VolumeAttributesClass", "1.37", "storage.k8s.io/v1"],
];

describe("a removed API version", () => {
  const removals = [...PUBLISHED, ...OTHERS].flatMap(([apiVersion, kinds, removed, to]) =>
    kinds.split(" ").map((kind) => [apiVersion, kind, removed, to] as const),
  );

  test.each(removals)("%s %s is an error from %s on, with its replacement", (apiVersion, kind, removed, to) => {
    const [found, ...others] = findingsIn(object(apiVersion, kind));
    expect(others).toEqual([]);
    expect(found).toMatchObject({ id: "removed-api", severity: "error", release: removed, count: 1 });
    if (to === "") expect(found?.fix.join(" ")).not.toContain("apiVersion to");
    else expect(found?.fix[0]).toContain(`apiVersion to ${to}`);
    expect(findingsIn(object(apiVersion, kind), { to: removed })).toMatchObject([{ id: "removed-api" }]);
    if (minorOf(removed) === 16) return;
    const before = findingsIn(object(apiVersion, kind), { to: `1.${minorOf(removed) - 1}` });
    expect(before.filter(({ severity }) => severity === "error")).toEqual([]);
  });

  test("that only one of several targets has removed is an error", () => {
    const text = object("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema");
    expect(findingsIn(text, { to: ["1.30", "1.31"] })).toMatchObject([{ id: "deprecated-api" }]);
    expect(findingsIn(text, { to: ["1.30", "1.32"] })).toMatchObject([{ id: "removed-api" }]);
  });

  test("whose newest replacement the current release does not serve names one that both releases serve", () => {
    const [found] = findingsIn(object("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema"), {
      ...{ from: "1.28", to: "1.29" },
    });
    expect(found?.fix[0]).toContain("flowcontrol.apiserver.k8s.io/v1,");
    expect(found?.fix[1]).toContain("until the upgrade use flowcontrol.apiserver.k8s.io/v1beta3");
  });
});

describe("the facts about releases", () => {
  test.each(RELEASES)("of %s agree with the catalog about the APIs that are served by default", (release) => {
    const served = openCatalog({ release }).groups.flatMap((group) =>
      group.resources.flatMap(({ versions }) =>
        versions.map(({ version, kind }) => `${formatGroupVersion({ group: group.name, version })} ${kind}`),
      ),
    );
    const known = kubernetesKinds()
      .flatMap(apisOfKind)
      .filter((api) => api.stateIn(minorOf(release), EMPTY_RUNTIME_CONFIG) === "on")
      .map(({ apiVersion, kind }) => `${apiVersion} ${kind}`);
    expect(served.length).toBeGreaterThan(50);
    expect(known.toSorted()).toEqual(served.toSorted());
  });
});

describe("an API version that is served", () => {
  test.each([
    ["apps/v1", "Deployment"],
    ["v1", "ConfigMap"],
    ["networking.k8s.io/v1", "Ingress"],
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["apiregistration.k8s.io/v1", "APIService"],
    ["authorization.k8s.io/v1", "SelfSubjectAccessReview"],
  ])("%s %s is no finding from 1.22 to 1.37", (apiVersion, kind) => {
    const to = Array.from({ length: 16 }, (_, index) => `1.${22 + index}`);
    expect(findingsIn(object(apiVersion, kind), { to })).toEqual([]);
  });

  test("and deprecated is a warning if a release is to remove it, else an information", () => {
    const slices = findingsIn(object("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"), { to: "1.31" });
    expect(slices).toMatchObject([{ id: "deprecated-api", severity: "warning", release: "1.29" }]);
    expect(findingsIn(object("v1", "Endpoints"))).toMatchObject([{ id: "deprecated-api", severity: "info" }]);
    expect(findingsIn(object("v1", "Endpoints"), { to: "1.32" })).toEqual([]);
  });

  test("only with --runtime-config is a warning, unless the runtime config enables it", () => {
    const claim = object("resource.k8s.io/v1beta2", "ResourceClaim");
    expect(findingsIn(claim, { to: "1.34" })).toMatchObject([{ id: "off-by-default-api", severity: "warning" }]);
    expect(findingsIn(claim, { to: "1.34", runtimeConfig: "resource.k8s.io/v1beta2=true" })).toEqual([]);
    const candidate = object("coordination.k8s.io/v1alpha2", "LeaseCandidate");
    expect(findingsIn(candidate)).toMatchObject([{ id: "alpha-api", severity: "warning" }]);
    expect(findingsIn(candidate, { runtimeConfig: "api/alpha=true" })).toMatchObject([{ severity: "info" }]);
  });

  test("only by newer releases is an error for a target, and an information for the current release", () => {
    const text = object("autoscaling/v2", "HorizontalPodAutoscaler");
    expect(findingsIn(text, { to: "1.22" })).toMatchObject([{ id: "not-yet-served", severity: "error" }]);
    expect(findingsIn(text, { from: "1.22", to: "1.23" })).toMatchObject([{ id: "not-yet-served", severity: "info" }]);
    expect(findingsIn(text, { from: "1.23", to: "1.24" })).toEqual([]);
  });
});

describe("an unknown API version", () => {
  test.each([
    ["v1", "Deployment", "unknown-api-version", "apps/v1"],
    ["networking.k8s.io/v2", "Ingress", "unknown-api-version", "networking.k8s.io/v1"],
    ["app/v1", "Deployment", "unknown-api-version", "apps/v1"],
    ["apps/v1", "Deploymnet", "unknown-kind", "Deployment"],
  ])("%s %s is an error that names the probable one", (apiVersion, kind, id, meant) => {
    const [found] = findingsIn(object(apiVersion, kind));
    expect(found).toMatchObject({ id, severity: "error" });
    expect(found?.fix[0]).toContain(meant);
  });

  test.each([
    ["kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"],
    ["kubeadm.k8s.io/v1beta3", "ClusterConfiguration"],
    ["v1", "Config"],
    ["builtin", "LabelTransformer"],
    ["skaffold/v2beta14", "Config"],
    ["policy/v1", "Eviction"],
  ])("of a kind that no server stores, %s %s, is an information", (apiVersion, kind) => {
    expect(findingsIn(object(apiVersion, kind))).toMatchObject([{ id: "not-an-api-object", severity: "info" }]);
  });

  test("of a group that is not of Kubernetes is an information for all such objects together", () => {
    const text = `${object("example.com/v1", "A")}---\n${object("gateway.networking.k8s.io/v1", "Gateway")}`;
    expect(findingsIn(text)).toMatchObject([{ id: "custom-resource-not-checked", severity: "info", count: 2 }]);
  });
});

describe("a custom resource whose CRD is among the manifests", () => {
  const crd = object(
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    [
      "spec:",
      "  group: shop.example",
      "  names: {kind: Widget}",
      "  versions:",
      "  - {name: v1, served: true, storage: true}",
      "  - {name: v1beta1, served: true, deprecated: true, deprecationWarning: use v1}",
      "  - {name: v1alpha1, served: false}",
      "---\n",
    ].join("\n"),
  );

  test("in a served version is no finding", () => {
    expect(findingsIn(crd + object("shop.example/v1", "Widget"))).toEqual([]);
  });

  test.each(["v1alpha1", "v2"])("in version %s, which the CRD does not serve, is an error", (version) => {
    const [found] = findingsIn(crd + object(`shop.example/${version}`, "Widget"));
    expect(found).toMatchObject({ id: "crd-version-not-served", severity: "error", count: 1 });
  });

  test("in a deprecated version is a warning with the text of the CRD", () => {
    const [found] = findingsIn(crd + object("shop.example/v1beta1", "Widget"));
    expect(found).toMatchObject({ id: "crd-version-deprecated", severity: "warning", why: "use v1" });
  });

  test("of apiextensions.k8s.io/v1beta1 is checked, and the CRD is an error itself", () => {
    const old = object(
      "apiextensions.k8s.io/v1beta1",
      "CustomResourceDefinition",
      "spec: {group: shop.example, version: v1, names: {kind: Widget}}\n---\n",
    );
    const ids = findingsIn(old + object("shop.example/v1", "Widget") + "---\n" + object("shop.example/v2", "Widget"));
    expect(ids.map(({ id }) => id)).toEqual(["removed-api", "crd-version-not-served"]);
  });
});

test("an autoscaler whose target names a group that no longer has the kind is an error", () => {
  const hpa = (apiVersion: string): string =>
    object(
      "autoscaling/v2",
      "HorizontalPodAutoscaler",
      `spec: {scaleTargetRef: {apiVersion: ${apiVersion}, kind: Deployment}}\n`,
    );
  expect(findingsIn(hpa("extensions/v1beta1"))).toMatchObject([{ id: "removed-api-reference", release: "1.16" }]);
  expect(findingsIn(hpa("apps/v1beta1"))).toEqual([]);
});

test("many objects with one problem are one finding, which holds a bounded number of subjects", () => {
  const text = object("batch/v1beta1", "CronJob", "---\n").repeat(150);
  const [found, ...others] = findingsIn(text);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ count: 150 });
  expect(found?.subjects).toHaveLength(100);
  expect(found?.subjects[1]).toMatchObject({ name: "CronJob shop/it", file: "a.yaml", line: 5, detail: "a.yaml:5" });
});
