/**
 * Creates all plugins except webhooks and admission policies, in kubernetes' order. createServerAdmission selects the
 * enabled ones.
 */
import type { Authorizer } from "../../auth/authorize.ts";
import type { Clock } from "../../../base/clock.ts";
import type { StoreEpoch } from "../../../base/store-epoch.ts";
import type { Random } from "../../../base/random.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { inPluginOrder } from "../plugin-order.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./certificates.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds, type DefaultTolerationOptions } from "./default-toleration-seconds.ts";
import { limitRanger } from "./limit-ranger.ts";
import { nodeRestriction } from "./node-restriction/node-restriction.ts";
import { podTopologyLabels, taintNodesByCondition } from "./node-plugins.ts";
import { ownerReferencesPermissionEnforcement, type ResourcesOfKind } from "./owner-references.ts";
import type { PodSecurityConfiguration } from "./pod-security/configuration.ts";
import { podSecurity } from "./pod-security/pod-security.ts";
import { priority } from "./priority.ts";
import { resourceQuota, type ChargeQuota } from "./quota/resource-quota.ts";
import { runtimeClass } from "./runtime-class.ts";
import { serviceAccount } from "./service-account.ts";
import {
  alwaysAdmit,
  alwaysDeny,
  alwaysPullImages,
  denyServiceExternalIps,
  extendedResourceToleration,
  limitPodHardAntiAffinityTopology,
} from "./small-plugins.ts";
import { persistentVolumeClaimResize } from "./volume-claim-resize.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

interface BuiltInPorts {
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
  readonly chargeQuota: ChargeQuota;
  readonly epoch?: StoreEpoch;
  readonly resourcesOfKind: ResourcesOfKind;
  readonly clock: Clock;
  readonly random: Random;
  /** The minor version of the release, such as 36. Pod security labels with the version "latest" refer to it. */
  readonly minor: number;
  readonly gates: ReleaseGates;
  readonly tolerations: DefaultTolerationOptions;
  readonly podSecurity: PodSecurityConfiguration;
}

export function builtInPlugins(ports: BuiltInPorts): readonly AdmissionPlugin[] {
  const { reader, authorizer, chargeQuota, resourcesOfKind, clock, random, minor, gates } = ports;
  return inPluginOrder([
    alwaysAdmit(),
    alwaysDeny(),
    alwaysPullImages(),
    certificateApproval(authorizer),
    certificateSigning(authorizer),
    certificateSubjectRestriction(),
    clusterTrustBundleAttest(authorizer),
    defaultIngressClass(reader),
    defaultStorageClass(reader),
    defaultTolerationSeconds(ports.tolerations),
    denyServiceExternalIps(),
    extendedResourceToleration(),
    limitPodHardAntiAffinityTopology(),
    limitRanger(reader),
    nodeRestriction({ reader, authorizer }),
    ownerReferencesPermissionEnforcement({ authorizer, resourcesOfKind }),
    persistentVolumeClaimResize(reader),
    podSecurity({ reader, minor, configuration: ports.podSecurity }),
    podTopologyLabels(reader),
    priority(reader),
    resourceQuota({ reader, chargeQuota, epoch: ports.epoch, gates, now: () => clock.now() }),
    runtimeClass(reader),
    serviceAccount({ reader, random, clock }),
    taintNodesByCondition(),
  ]);
}
