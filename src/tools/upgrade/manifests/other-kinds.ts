/**
 * Kinds that look like Kubernetes objects but that no API server stores: configuration files of its components and
 * tools, and bodies of requests. They are not checked, because their versions do not follow those of the API.
 */
import { parseGroupVersion } from "../../../meta/group-version.ts";
import { apisOfKind, isKubernetesGroup } from "./known-apis.ts";

const CONFIGURATION_GROUPS: ReadonlySet<string> = new Set([
  "admission.k8s.io",
  "apidiscovery.k8s.io",
  "apiserver.k8s.io",
  "audit.k8s.io",
  "client.authentication.k8s.io",
  "config.k8s.io",
  "config.kubernetes.io",
  "credentialprovider.kubelet.k8s.io",
  "eventratelimit.admission.k8s.io",
  "imagepolicy.k8s.io",
  "kubeadm.k8s.io",
  "meta.k8s.io",
  "podtolerationrestriction.admission.k8s.io",
  "resourcequota.admission.k8s.io",
  "webhookadmission",
]);

/** Kinds of "v1" and of subresources. */
const TRANSIENT_KINDS: ReadonlySet<string> = new Set([
  "v1 APIGroup",
  "v1 APIGroupList",
  "v1 APIResourceList",
  "v1 APIVersions",
  "v1 Config",
  "v1 DeleteOptions",
  "v1 NodeProxyOptions",
  "v1 PodAttachOptions",
  "v1 PodExecOptions",
  "v1 PodLogOptions",
  "v1 PodPortForwardOptions",
  "v1 PodProxyOptions",
  "v1 PodStatusResult",
  "v1 Preferences",
  "v1 RangeAllocation",
  "v1 SerializedReference",
  "v1 ServiceProxyOptions",
  "v1 Status",
  "authentication.k8s.io/v1 TokenRequest",
  "autoscaling/v1 Scale",
  "policy/v1 Eviction",
  "apiextensions.k8s.io/v1 ConversionReview",
  "apiextensions.k8s.io/v1beta1 ConversionReview",
]);

/** Versions of the core group; files of other tools may have an apiVersion such as "0.1.0". */
const VERSION = /^v\d/;

export function isNeverStored(apiVersion: string, kind: string): boolean {
  const { group, version } = parseGroupVersion(apiVersion);
  const isForeign = !isKubernetesGroup(group) || (group === "" && !VERSION.test(version));
  // CRDs need a group with a dot, so that only the configuration of another tool can have such a group.
  if (isForeign && !group.includes(".") && apisOfKind(kind).length === 0) return true;
  return (
    CONFIGURATION_GROUPS.has(group) ||
    group.endsWith(".config.k8s.io") ||
    group === "kustomize.config.k8s.io" ||
    TRANSIENT_KINDS.has(`${apiVersion} ${kind}`)
  );
}
