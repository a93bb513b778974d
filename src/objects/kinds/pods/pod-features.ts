/** Which releases do what with pods: the first minor that does it without being told to, or that can be told to. */
import type { KindContext } from "../kind.ts";

const ON_SINCE = {
  ClearingNominatedNodeNameAfterBinding: 35,
  ContainerRestartRules: 34,
  EnvFiles: 35,
  ImageVolume: 31,
  InPlacePodLevelResourcesVerticalScaling: 36,
  InPlacePodVerticalScaling: 33,
  InPlacePodVerticalScalingInitContainers: 36,
  MatchLabelKeysInPodAffinity: 31,
  MatchLabelKeysInPodTopologySpreadSelectorMerge: 34,
  PodLevelResources: 34,
  PodLifecycleSleepActionAllowZero: 33,
  PodObservedGenerationTracking: 34,
  RelaxedDNSSearchValidation: 33,
  RelaxedEnvironmentVariableValidation: 32,
  RestartAllContainersOnContainerExits: 36,
  StrictIPCIDRValidation: 36,
  VolumeAttributesClass: 34,
} as const satisfies Readonly<Record<string, number>>;

export function hasFeature(feature: keyof typeof ON_SINCE, { minor }: Pick<KindContext, "minor">): boolean {
  return minor >= ON_SINCE[feature];
}
