/**
 * The differences between the Kubernetes releases as which a server can run, one named gate for each difference. Code
 * checks whether a gate is on and never compares release numbers, so that the first and last release of each difference
 * are written in one place.
 *
 * A gate that is a Kubernetes feature gate has its name, and is on from the release in which the feature is on by
 * default unless its comment says otherwise. The other gates name a change that Kubernetes made without a feature gate.
 */
type Release = `1.${number}`;

interface GateRange {
  /** The first release in which the gate is on; absent if it is on in the oldest release. */
  readonly since?: Release;
  /** The last release in which the gate is on; absent if it is on in the newest release. */
  readonly until?: Release;
}

const GATES = {
  /** The feature gate AggregatedDiscoveryEndpoint can be turned off. */
  AggregatedDiscoveryIsOptional: { until: "1.29" },
  /** Aggregated discovery is also served as v2beta1. */
  AggregatedDiscoveryV2beta1: { until: "1.32" },
  /** An object that cannot be read can be deleted on request. `--feature-gates` can change this gate. */
  AllowUnsafeMalformedObjectDeletion: { since: "1.37" },
  /** AppArmor profiles are fields of the security context; annotations are copied to them. */
  AppArmorFields: { since: "1.30" },
  /** Connecting to a pod by GET (a WebSocket upgrade) requires permission to create as well. */
  AuthorizePodWebsocketUpgradeCreatePermission: { since: "1.35" },
  /** Access reviews consider field and label selectors. */
  AuthorizeWithSelectors: { since: "1.32" },
  /** CEL: selectors of authorizer checks. Kubernetes also requires AuthorizeWithSelectors, which is off in 1.31. */
  CELAuthorizerSelectors: { since: "1.31" },
  /** CEL: the library of named formats. */
  CELFormatLibrary: { since: "1.31" },
  /** CEL: the extended list library with sortBy. */
  CELListsLibrary: { since: "1.34" },
  /** CEL: the semver library. */
  CELSemverLibrary: { since: "1.33" },
  /** CEL: comprehensions over two variables. */
  CELTwoVariableComprehensions: { since: "1.32" },
  /** CRD errors do not repeat the name of their field. */
  CRDErrorsWithoutFieldNames: { since: "1.34" },
  /** Writing a CRD warns about unrecognized string formats. */
  CRDFormatWarnings: { since: "1.34" },
  /** Writing a CRD also warns about unrecognized formats of other types. */
  CRDFormatWarningsForAllTypes: { since: "1.36" },
  /** A CRD may not set example or externalDocs on the metadata of its resource. */
  CRDMetadataDocumentationForbidden: { since: "1.36" },
  /** Schemas of CRDs accept the formats k8s-short-name and k8s-long-name. */
  CRDNameFormats: { since: "1.34" },
  /** Custom resources: numbers and their bounds are checked against the range of their type and format. */
  CRDNumberRanges: { since: "1.36" },
  /** A CRD with too many selectable fields can be updated as long as those fields stay as they are. */
  CRDSelectableFieldsRatcheting: { since: "1.35" },
  /** An update of a custom resource may keep values that are no longer valid. */
  CRDValidationRatcheting: { since: "1.30" },
  /** CSINodes have a status, which Go always writes. */
  CSINodeStatus: { since: "1.37" },
  /** CSI drivers can receive service account tokens as secrets. */
  CSIServiceAccountTokenSecrets: { since: "1.35" },
  /** The in-tree volume plugins for cephfs and rbd work. */
  CephVolumePlugins: { until: "1.30" },
  /** Binding a pod clears its nominated node name. */
  ClearingNominatedNodeNameAfterBinding: { since: "1.35" },
  /** Impersonation can be allowed for some users and some requests only. */
  ConstrainedImpersonation: { since: "1.36" },
  /** Containers have restart policies and rules. On from the release in which the feature can be enabled. */
  ContainerRestartRules: { since: "1.34" },
  /** Device requests: constraints by distinct attribute. */
  DRAConsumableCapacity: { since: "1.36" },
  /** A device class can back an extended resource. */
  DRAExtendedResource: { since: "1.36" },
  /** status.terminatingReplicas of Deployments and ReplicaSets can be written. */
  DeploymentReplicaSetTerminatingReplicas: { since: "1.35" },
  /** Cluster IPs are no longer allocated in the bitmap as well. */
  DisableAllocatorDualWrite: { since: "1.34" },
  /** Environment variables can come from files of a volume. */
  EnvFiles: { since: "1.35" },
  /** gitRepo volumes work. */
  GitRepoVolumeDriver: { until: "1.32" },
  /** Autoscalers: the tolerance of a scaling direction can be set. */
  HPAConfigurableTolerance: { since: "1.35" },
  /** Autoscalers: a missing maxReplicas is reported as required, not as invalid. */
  HPAMaxReplicasRequired: { since: "1.36" },
  /** Autoscalers: the apiVersion of the scale target and of object metrics is validated. */
  HPAReferenceAPIVersionValidation: { since: "1.34" },
  /** Tables of autoscalers name the resource of each target. */
  HPATableResourceNames: { since: "1.30" },
  /** Volumes from images. On from the release in which the feature can be enabled. */
  ImageVolume: { since: "1.31" },
  /** The resources of a pod as a whole can be resized. */
  InPlacePodLevelResourcesVerticalScaling: { since: "1.36" },
  /** The resources of containers can be resized. */
  InPlacePodVerticalScaling: { since: "1.33" },
  /** The resources of init containers that are not sidecars can be resized too. */
  InPlacePodVerticalScalingInitContainers: { since: "1.36" },
  /** Tables of ingress classes mark the default one. */
  IngressClassTableDefault: { since: "1.36" },
  /** A suspended Job without completions can finish without a start time. */
  JobFinishedWithoutStartTime: { since: "1.34" },
  /** The start time of a Job can change when the Job is resumed. */
  JobStartTimeMutableOnResume: { since: "1.36" },
  /** Errors about the status of a Job do not repeat the name of their field. */
  JobStatusErrorsWithoutFieldNames: { since: "1.34" },
  /** Tables of Jobs show a Job that has met its success criteria. */
  JobTableSuccessCriteriaMet: { since: "1.34" },
  /** Pod affinity: matchLabelKeys are merged into the selector. */
  MatchLabelKeysInPodAffinity: { since: "1.31" },
  /** Topology spread constraints: matchLabelKeys are merged into the selector. */
  MatchLabelKeysInPodTopologySpreadSelectorMerge: { since: "1.34" },
  /** The rolling update of a StatefulSet has maxUnavailable. */
  MaxUnavailableStatefulSet: { since: "1.37" },
  /** Cluster IPs are allocated from ServiceCIDRs, as IPAddress objects. */
  MultiCIDRServiceAllocator: { since: "1.33" },
  /** The allocatable count of a CSINode can change, and a CSIDriver can set how often it is updated. */
  MutableCSINodeAllocatableCount: { since: "1.35" },
  /** A suspended Job can change the resources of its containers. */
  MutablePodResourcesForSuspendedJobs: { since: "1.36" },
  /** A suspended Job can change where its pods run, even if it has run before. */
  MutableSchedulingDirectivesForSuspendedJobs: { since: "1.36" },
  /** Tables of nodes show the architecture beside the kernel version. */
  NodeTableArchitecture: { since: "1.36" },
  /** OpenAPI 3 states that the bodies of writes are required. */
  OpenAPIBodyRequired: { since: "1.29" },
  /** The version of an OpenAPI document is the emulated release, such as 1.36, and not that of the binary. */
  OpenAPIInfoWithRelease: { since: "1.31" },
  /** In OpenAPI 3, kinds that every group version has list only the group version of the document. */
  OpenAPIKindsOfGroupVersion: { since: "1.36" },
  /** OpenAPI 3 states the zero value of list items and map values as their default. */
  OpenAPIZerosInLists: { until: "1.36" },
  /** OpenAPI 3 also states it for types that write themselves as JSON, such as times. */
  OpenAPIZerosOfScalarModels: { until: "1.28" },
  /** status.lastPhaseTransitionTime of persistent volumes. */
  PersistentVolumeLastPhaseTransitionTime: { since: "1.29" },
  /** Pod certificate projections have user annotations. */
  PodCertificateUserAnnotations: { since: "1.35" },
  /** spec.resources of a pod. */
  PodLevelResources: { since: "1.34" },
  /** A resize of a pod with pod-level resources is validated like other resizes instead of being rejected. */
  PodLevelResourcesResizeValidation: { since: "1.35" },
  /** The sleep action of a lifecycle hook may take zero seconds. */
  PodLifecycleSleepActionAllowZero: { since: "1.33" },
  /** OpenAPI lists the query parameter that selects a stream of a container's log. */
  PodLogStreamParameter: { since: "1.32" },
  /** status.observedGeneration of pods, and observedGeneration in their conditions. */
  PodObservedGenerationTracking: { since: "1.34" },
  /** spec.schedulingGroup of a pod (GenericWorkload). */
  PodSchedulingGroup: { since: "1.36" },
  /**
   * Not a change of Kubernetes: on as long as objects/kinds/internal-version/internal-types.ts has every field of a
   * pod's spec.
   */
  PodSpecTypesComplete: { until: "1.36" },
  /** Tables of pods show why a container failed when the others have completed. */
  PodTableFailedContainer: { since: "1.35" },
  /** Tables of pods show the outcome of a finished pod that is being deleted. */
  PodTableFinishedOnDeletion: { since: "1.31" },
  /** Errors about immutable parts of a pod show a diff of JSON. */
  PodUpdateErrorsWithJSONDiff: { since: "1.34" },
  /** spec.workloadRef of a pod (GenericWorkload). */
  PodWorkloadRef: { since: "1.35", until: "1.35" },
  /** Services: trafficDistribution can be PreferSameZone and PreferSameNode. */
  PreferSameTrafficDistribution: { since: "1.34" },
  /** A persistent volume claim whose expansion failed can request less storage. */
  RecoverVolumeExpansionFailure: { since: "1.32" },
  /** DNS search paths may contain underscores, or be a single dot. */
  RelaxedDNSSearchValidation: { since: "1.33" },
  /** Names of environment variables may have nearly all printable characters. */
  RelaxedEnvironmentVariableValidation: { since: "1.32" },
  /** Names of Services may begin with a digit. */
  RelaxedServiceNameValidation: { since: "1.36" },
  /** Tables of resource claims show the state "deallocating" of claims that are being deallocated. */
  ResourceClaimTableDeallocating: { until: "1.31" },
  /** A restart rule can restart all containers of the pod. */
  RestartAllContainersOnContainerExits: { since: "1.36" },
  /** The annotation kubernetes.io/enforce-mountable-secrets is deprecated. */
  ServiceAccountEnforceMountableSecretsDeprecated: { since: "1.32" },
  /** Service account tokens have an ID. */
  ServiceAccountTokenJTI: { since: "1.30" },
  /** Service account tokens can be bound to nodes. */
  ServiceAccountTokenNodeBinding: { since: "1.31" },
  /** Service account tokens bound to a pod name its node. */
  ServiceAccountTokenPodNodeInfo: { since: "1.30" },
  /** Errors about a Service show lists of strings as JSON. */
  ServiceErrorsWithJSONLists: { since: "1.34" },
  /** spec.externalIPs of Services is deprecated. */
  ServiceExternalIPsDeprecated: { since: "1.36" },
  /** The error for a full range of cluster IPs names the Service. */
  ServiceIPErrorNamesService: { since: "1.36" },
  /** trafficDistribution PreferClose is deprecated. */
  ServicePreferCloseDeprecated: { since: "1.35" },
  /** OpenAPI lists the query parameter that selects a shard of a list. */
  ShardSelectorParameter: { since: "1.36" },
  /** StatefulSets: the templates of pods and claims are validated. */
  StatefulSetTemplateValidation: { since: "1.34" },
  /** Names ending in .static.k8s.io are reserved for admission configuration in files. */
  StaticConfigSuffixReserved: { since: "1.36" },
  /** The error of a list with unreadable objects contains the error of the first one. */
  StorageReadErrorNamesCause: { since: "1.37" },
  /** The storage version of an alpha API is chosen by the emulated version instead of the minimum compatibility version. */
  StorageVersionInTwoPasses: { since: "1.37" },
  /** A version that has a replacement is never chosen as the storage version. */
  StorageVersionSkipsReplaced: { since: "1.32", until: "1.33" },
  /** IP addresses and CIDRs may not have leading zeros and may not be IPv4-mapped IPv6 addresses. */
  StrictIPCIDRValidation: { since: "1.36" },
  /** A token request may name the UID of its service account, which must match. */
  TokenRequestServiceAccountUIDValidation: { since: "1.34" },
  /** The mixed version proxy. */
  UnknownVersionInteroperabilityProxy: { since: "1.36" },
  /** An unsafe deletion of a readable object is a conflict, and that of an absent one returns 404; before, both were 422. */
  UnsafeDeletionConflict: { since: "1.37" },
  /** An unsafe deletion can be a dry run. */
  UnsafeDeletionDryRun: { since: "1.37" },
  /** DeleteOptions can request an unsafe deletion. On from the release in which the feature can be enabled. */
  UnsafeDeletionOption: { since: "1.32" },
  /** /version reports the emulated and the minimum compatibility version. */
  VersionReportsEmulation: { since: "1.33" },
  /** Volume attributes classes. */
  VolumeAttributesClass: { since: "1.34" },
  /** A CSIDriver can keep pods off nodes without the driver. */
  VolumeLimitScaling: { since: "1.37" },
  /** Watches that send the initial objects are compressed if the client accepts it. */
  WatchListCompression: { since: "1.37" },
} as const satisfies Readonly<Record<string, GateRange>>;

export type ReleaseGate = keyof typeof GATES;

/** Sorted by name. */
export const RELEASE_GATES: readonly ReleaseGate[] = Object.freeze(Object.keys(GATES) as ReleaseGate[]);

/** The behavior of a release. One value per release, shared by all servers of the process. */
export interface ReleaseGates {
  isOn(gate: ReleaseGate): boolean;
  /**
   * The gates of the previous release, whose servers may be in the cluster too. The oldest release has no previous one,
   * and refers to itself.
   */
  readonly previous: ReleaseGates;
}

/** `release`: a name such as "1.36". `previous`: absent for the oldest release. */
export function createReleaseGates(release: string, previous?: ReleaseGates): ReleaseGates {
  const minor = minorOf(release);
  const on: ReadonlySet<ReleaseGate> = new Set(RELEASE_GATES.filter((gate) => isWithin(GATES[gate], minor)));
  const gates = {
    isOn: (gate: ReleaseGate): boolean => on.has(gate),
    get previous(): ReleaseGates {
      return previous ?? gates;
    },
  };
  return gates;
}

function isWithin({ since, until }: GateRange, minor: number): boolean {
  return (since === undefined || minor >= minorOf(since)) && (until === undefined || minor <= minorOf(until));
}

function minorOf(release: string): number {
  return Number(release.slice("1.".length));
}
