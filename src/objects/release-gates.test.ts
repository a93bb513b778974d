import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { gatesOf, NEWEST_GATES } from "./catalog/release-gates.ts";
import { RELEASES } from "./catalog/release.ts";
import { createReleaseGates, RELEASE_GATES } from "./release-gates.ts";

const SRC = fileURLToPath(new URL("../", import.meta.url));

/**
 * The changes of each release against the previous one: gates that it turns on or off. The first entry lists all gates
 * that are on.
 */
const CHANGES: Readonly<Record<string, string>> = {
  "1.28": `
    +AggregatedDiscoveryIsOptional
    +AggregatedDiscoveryV2beta1
    +CephVolumePlugins
    +GitRepoVolumeDriver
    +OpenAPIZerosInLists
    +OpenAPIZerosOfScalarModels
    +PodSpecTypesComplete
    +ResourceClaimTableDeallocating
`,
  "1.29": `
    +OpenAPIBodyRequired
    +PersistentVolumeLastPhaseTransitionTime
    -OpenAPIZerosOfScalarModels
`,
  "1.30": `
    +AppArmorFields
    +CRDValidationRatcheting
    +HPATableResourceNames
    +ServiceAccountTokenJTI
    +ServiceAccountTokenPodNodeInfo
    -AggregatedDiscoveryIsOptional
`,
  "1.31": `
    +CELAuthorizerSelectors
    +CELFormatLibrary
    +ImageVolume
    +MatchLabelKeysInPodAffinity
    +OpenAPIInfoWithRelease
    +PodTableFinishedOnDeletion
    +ServiceAccountTokenNodeBinding
    -CephVolumePlugins
`,
  "1.32": `
    +AuthorizeWithSelectors
    +CELTwoVariableComprehensions
    +PodLogStreamParameter
    +RecoverVolumeExpansionFailure
    +RelaxedEnvironmentVariableValidation
    +ServiceAccountEnforceMountableSecretsDeprecated
    +StorageVersionSkipsReplaced
    +UnsafeDeletionOption
    -ResourceClaimTableDeallocating
`,
  "1.33": `
    +CELSemverLibrary
    +InPlacePodVerticalScaling
    +MultiCIDRServiceAllocator
    +PodLifecycleSleepActionAllowZero
    +RelaxedDNSSearchValidation
    +VersionReportsEmulation
    -AggregatedDiscoveryV2beta1
    -GitRepoVolumeDriver
`,
  "1.34": `
    +CELListsLibrary
    +CRDErrorsWithoutFieldNames
    +CRDFormatWarnings
    +CRDNameFormats
    +ContainerRestartRules
    +DisableAllocatorDualWrite
    +HPAReferenceAPIVersionValidation
    +JobFinishedWithoutStartTime
    +JobStatusErrorsWithoutFieldNames
    +JobTableSuccessCriteriaMet
    +MatchLabelKeysInPodTopologySpreadSelectorMerge
    +PodLevelResources
    +PodObservedGenerationTracking
    +PodUpdateErrorsWithJSONDiff
    +PreferSameTrafficDistribution
    +ServiceErrorsWithJSONLists
    +StatefulSetTemplateValidation
    +TokenRequestServiceAccountUIDValidation
    +VolumeAttributesClass
    -StorageVersionSkipsReplaced
`,
  "1.35": `
    +AuthorizePodWebsocketUpgradeCreatePermission
    +CRDSelectableFieldsRatcheting
    +CSIServiceAccountTokenSecrets
    +ClearingNominatedNodeNameAfterBinding
    +DeploymentReplicaSetTerminatingReplicas
    +EnvFiles
    +HPAConfigurableTolerance
    +MutableCSINodeAllocatableCount
    +PodCertificateUserAnnotations
    +PodLevelResourcesResizeValidation
    +PodTableFailedContainer
    +PodWorkloadRef
    +ServicePreferCloseDeprecated
`,
  "1.36": `
    +CRDFormatWarningsForAllTypes
    +CRDMetadataDocumentationForbidden
    +CRDNumberRanges
    +ConstrainedImpersonation
    +DRAConsumableCapacity
    +DRAExtendedResource
    +HPAMaxReplicasRequired
    +InPlacePodLevelResourcesVerticalScaling
    +InPlacePodVerticalScalingInitContainers
    +IngressClassTableDefault
    +JobStartTimeMutableOnResume
    +MutablePodResourcesForSuspendedJobs
    +MutableSchedulingDirectivesForSuspendedJobs
    +NodeTableArchitecture
    +OpenAPIKindsOfGroupVersion
    +PodSchedulingGroup
    +RelaxedServiceNameValidation
    +RestartAllContainersOnContainerExits
    +ServiceExternalIPsDeprecated
    +ServiceIPErrorNamesService
    +ShardSelectorParameter
    +StaticConfigSuffixReserved
    +StrictIPCIDRValidation
    +UnknownVersionInteroperabilityProxy
    -PodWorkloadRef
`,
  "1.37": `
    +AllowUnsafeMalformedObjectDeletion
    +CSINodeStatus
    +MaxUnavailableStatefulSet
    +StorageReadErrorNamesCause
    +StorageVersionInTwoPasses
    +UnsafeDeletionConflict
    +UnsafeDeletionDryRun
    +VolumeLimitScaling
    +WatchListCompression
    -OpenAPIZerosInLists
    -PodSpecTypesComplete
`,
};

function changes(index: number): string[] {
  const isOn = (at: number, gate: (typeof RELEASE_GATES)[number]): boolean =>
    at >= 0 && gatesOf(RELEASES[at]!).isOn(gate);
  const turned = (to: boolean): string[] =>
    RELEASE_GATES.filter((gate) => isOn(index, gate) === to && isOn(index - 1, gate) === !to);
  return [...turned(true).map((gate) => `+${gate}`), ...turned(false).map((gate) => `-${gate}`)];
}

describe("the table of release gates", () => {
  test.each(RELEASES.map((release, index) => [release, index] as const))(
    "has the expected changes in %s",
    (release, index) => {
      expect(changes(index)).toEqual(CHANGES[release]?.trim().split(/\s+/));
    },
  );

  test("is sorted by name", () => {
    expect(RELEASE_GATES).toEqual([...RELEASE_GATES].sort());
  });

  test("has only gates that differ between two releases", () => {
    const isConstant = (gate: (typeof RELEASE_GATES)[number]): boolean =>
      new Set(RELEASES.map((release) => gatesOf(release).isOn(gate))).size === 1;
    expect(RELEASE_GATES.filter(isConstant)).toEqual([]);
  });

  test("has only gates that other code uses", () => {
    const isShipped = (path: string): boolean => !/\.test\.ts$|(^|\/)testing\/|^objects\/release-gates\.ts$/.test(path);
    const shipped = globSync("**/*.ts", { cwd: SRC })
      .filter((path) => isShipped(path))
      .map((path) => readFileSync(SRC + path, "utf8"))
      .join("\n");
    expect(RELEASE_GATES.filter((gate) => !shipped.includes(`"${gate}"`))).toEqual([]);
  });
});

describe("the gates of a release", () => {
  test("are one shared value", () => {
    expect(gatesOf("1.36")).toBe(gatesOf("1.36"));
    expect(NEWEST_GATES).toBe(gatesOf("1.37"));
  });

  test("refer to the gates of the previous release; those of the oldest release refer to themselves", () => {
    expect(gatesOf("1.37").previous).toBe(gatesOf("1.36"));
    expect(gatesOf("1.28").previous).toBe(gatesOf("1.28"));
  });

  test("do not include a gate after its last release", () => {
    const isOn = (release: string): boolean => createReleaseGates(release).isOn("PodWorkloadRef");
    expect(["1.34", "1.35", "1.36"].map(isOn)).toEqual([false, true, false]);
  });
});
