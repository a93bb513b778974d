/** The internal types of kube-apiserver that its error messages show. */
import type { ReleaseGate } from "../../release-gates.ts";

/** Fields that some releases do not have, by `Type.Field`. */
export const MEMBER_GATES: ReadonlyMap<string, ReleaseGate> = new Map<string, ReleaseGate>([
  ["PodCertificateProjection.UserAnnotations", "PodCertificateUserAnnotations"],
  ["PodSpec.SchedulingGroup", "PodSchedulingGroup"],
  ["PodSpec.WorkloadRef", "PodWorkloadRef"],
]);

/**
 * One line per type: its fields in order, as `Name`, `Name=key in the API`, `Name:shape` or `Name=key:shape`. Shapes:
 * - none: a string
 * - `b`: a boolean; `n`: a number; `q`: a quantity; `{}q`: a map of quantities
 * - `*`: a pointer to a scalar, a list of scalars, or a map of scalars
 * - `?`: any JSON
 * - `Type`, `*Type`, `[]Type`: another type, a pointer to it, a list of it
 * - `^`: an embedded type, whose fields are among those of the outer type
 * - `L`: a pointer to a label selector; `M`: object metadata
 */
export const INTERNAL_TYPES = {
  AWSElasticBlockStoreVolumeSource: "VolumeID FSType=fsType Partition:n ReadOnly:b",
  Affinity: "NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity",
  AllocationResult: "Devices:DeviceAllocationResult NodeSelector:*NodeSelector AllocationTimestamp:*",
  AppArmorProfile: "Type LocalhostProfile:*",
  AuditAnnotation: "Key ValueExpression",
  AzureDiskVolumeSource: "DiskName DataDiskURI=diskURI CachingMode:* FSType=fsType:* ReadOnly:* Kind:*",
  AzureFilePersistentVolumeSource: "SecretName ShareName ReadOnly:b SecretNamespace:*",
  AzureFileVolumeSource: "SecretName ShareName ReadOnly:b",
  CELDeviceSelector: "Expression",
  CSINodeDriver: "Name NodeID TopologyKeys:* Allocatable:*VolumeNodeResources",
  CSIPersistentVolumeSource:
    "Driver VolumeHandle ReadOnly:b FSType=fsType VolumeAttributes:* ControllerPublishSecretRef:*SecretReference NodeStageSecretRef:*SecretReference NodePublishSecretRef:*SecretReference ControllerExpandSecretRef:*SecretReference NodeExpandSecretRef:*SecretReference",
  CSIVolumeSource: "Driver ReadOnly:* FSType=fsType:* VolumeAttributes:* NodePublishSecretRef:*LocalObjectReference",
  Capabilities: "Add:* Drop:*",
  CapacityRequirements: "Requests:{}q",
  CephFSPersistentVolumeSource: "Monitors:* Path User SecretFile SecretRef:*SecretReference ReadOnly:b",
  CephFSVolumeSource: "Monitors:* Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:b",
  CertificateSigningRequestCondition: "Type Status Reason Message LastUpdateTime:* LastTransitionTime:*",
  CinderPersistentVolumeSource: "VolumeID FSType=fsType ReadOnly:b SecretRef:*SecretReference",
  CinderVolumeSource: "VolumeID FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference",
  ClusterTrustBundleProjection: "Name:* SignerName:* LabelSelector:L Optional:* Path",
  ConfigMapEnvSource: "LocalObjectReference:^ Optional:*",
  ConfigMapKeySelector: "LocalObjectReference:^ Key Optional:*",
  ConfigMapProjection: "LocalObjectReference:^ Items:[]KeyToPath Optional:*",
  ConfigMapVolumeSource: "LocalObjectReference:^ Items:[]KeyToPath DefaultMode:* Optional:*",
  Container: "EphemeralContainerCommon:^",
  ContainerPort: "Name HostPort:n ContainerPort:n Protocol HostIP",
  ContainerResizePolicy: "ResourceName RestartPolicy",
  ContainerRestartRule: "Action ExitCodes:*ContainerRestartRuleOnExitCodes",
  ContainerRestartRuleOnExitCodes: "Operator Values:*",
  CustomResourceColumnDefinition: "Name Type Format Description Priority:n JSONPath=jsonPath",
  CustomResourceDefinitionVersion: "Name Served:b Storage:b Deprecated:b DeprecationWarning:*",
  CustomResourceSubresourceScale: "SpecReplicasPath StatusReplicasPath LabelSelectorPath:*",
  CustomResourceSubresourceStatus: "",
  CustomResourceSubresources: "Status:*CustomResourceSubresourceStatus Scale:*CustomResourceSubresourceScale",
  DaemonSetUpdateStrategy: "Type RollingUpdate:*RollingUpdateDaemonSet",
  DeploymentStrategy: "Type RollingUpdate:*RollingUpdateDeployment",
  DeviceAllocationConfiguration: "Source Requests:* DeviceConfiguration:^",
  DeviceAllocationResult: "Results:[]DeviceRequestAllocationResult Config:[]DeviceAllocationConfiguration",
  DeviceAttribute:
    "IntValue=int:* BoolValue=bool:* StringValue=string:* VersionValue=version:* IntValues=ints:* BoolValues=bools:* StringValues=strings:* VersionValues=versions:*",
  DeviceClaim: "Requests:[]DeviceRequest Constraints:[]DeviceConstraint Config:[]DeviceClaimConfiguration",
  DeviceClaimConfiguration: "Requests:* DeviceConfiguration:^",
  DeviceConfiguration: "Opaque:*OpaqueDeviceConfiguration",
  DeviceConstraint: "Requests:* MatchAttribute:* DistinctAttribute:*",
  DeviceRequest: "Name Exactly:*ExactDeviceRequest FirstAvailable:[]DeviceSubRequest",
  DeviceRequestAllocationResult:
    "Request Driver Pool Device AdminAccess:* Tolerations:[]Toleration BindingConditions:* BindingFailureConditions:* ShareID:* ConsumedCapacity:{}q",
  DeviceSelector: "CEL=cel:*CELDeviceSelector",
  DeviceSubRequest:
    "Name DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:n Tolerations:[]Toleration Capacity:*CapacityRequirements",
  DownwardAPIProjection: "Items:[]DownwardAPIVolumeFile",
  DownwardAPIVolumeFile: "Path FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector Mode:*",
  DownwardAPIVolumeSource: "Items:[]DownwardAPIVolumeFile DefaultMode:*",
  EmptyDirVolumeSource: "Medium SizeLimit:*",
  EnvFromSource: "Prefix ConfigMapRef:*ConfigMapEnvSource SecretRef:*SecretEnvSource",
  EnvVar: "Name Value ValueFrom:*EnvVarSource",
  EnvVarSource:
    "FieldRef:*ObjectFieldSelector ResourceFieldRef:*ResourceFieldSelector ConfigMapKeyRef:*ConfigMapKeySelector SecretKeyRef:*SecretKeySelector FileKeyRef:*FileKeySelector",
  EphemeralContainer: "EphemeralContainerCommon:^ TargetContainerName",
  EphemeralContainerCommon:
    "Name Image Command:* Args:* WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:* RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b",
  EphemeralVolumeSource: "VolumeClaimTemplate:*PersistentVolumeClaimTemplate",
  EventSource: "Component Host",
  ExactDeviceRequest:
    "DeviceClassName Selectors:[]DeviceSelector AllocationMode Count:n AdminAccess:* Tolerations:[]Toleration Capacity:*CapacityRequirements",
  ExecAction: "Command:*",
  ExemptPriorityLevelConfiguration: "NominalConcurrencyShares:* LendablePercent:*",
  ExternalDocumentation: "Description URL=url",
  FCVolumeSource: "TargetWWNs:* Lun:* FSType=fsType ReadOnly:b WWIDs=wwids:*",
  FileKeySelector: "VolumeName Path Key Optional:*",
  FlexPersistentVolumeSource: "Driver FSType=fsType SecretRef:*SecretReference ReadOnly:b Options:*",
  FlexVolumeSource: "Driver FSType=fsType SecretRef:*LocalObjectReference ReadOnly:b Options:*",
  FlockerVolumeSource: "DatasetName DatasetUUID",
  FlowDistinguisherMethod: "Type",
  FlowSchemaSpec:
    "PriorityLevelConfiguration:PriorityLevelConfigurationReference MatchingPrecedence:n DistinguisherMethod:*FlowDistinguisherMethod Rules:[]PolicyRulesWithSubjects",
  FlowSubject: "Kind User:*UserSubject Group:*GroupSubject ServiceAccount:*ServiceAccountSubject",
  GCEPersistentDiskVolumeSource: "PDName=pdName FSType=fsType Partition:n ReadOnly:b",
  GRPCAction: "Port:n Service:*",
  GitRepoVolumeSource: "Repository Revision Directory",
  GlusterfsPersistentVolumeSource: "EndpointsName=endpoints Path ReadOnly:b EndpointsNamespace:*",
  GlusterfsVolumeSource: "EndpointsName=endpoints Path ReadOnly:b",
  GroupSubject: "Name",
  HTTPGetAction: "Path Port:n Host Scheme HTTPHeaders=httpHeaders:[]HTTPHeader",
  HTTPHeader: "Name Value",
  HostAlias: "IP=ip Hostnames:*",
  HostPathVolumeSource: "Path Type:*",
  ISCSIPersistentVolumeSource:
    "TargetPortal IQN=iqn Lun:n ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:b Portals:* DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*SecretReference InitiatorName:*",
  ISCSIVolumeSource:
    "TargetPortal IQN=iqn Lun:n ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:b Portals:* DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*LocalObjectReference InitiatorName:*",
  ImageVolumeSource: "Reference PullPolicy",
  KeyToPath: "Key Path Mode:*",
  Lifecycle: "PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*",
  LifecycleHandler:
    "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction Sleep:*SleepAction",
  LimitResponse: "Type Queuing:*QueuingConfiguration",
  LimitedPriorityLevelConfiguration:
    "NominalConcurrencyShares:n LimitResponse:LimitResponse LendablePercent:* BorrowingLimitPercent:*",
  LocalObjectReference: "Name",
  LocalVolumeSource: "Path FSType=fsType:*",
  NFSVolumeSource: "Server Path ReadOnly:b",
  NodeAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm",
  NodeSelector: "NodeSelectorTerms:[]NodeSelectorTerm",
  NodeSelectorRequirement: "Key Operator Values:*",
  NodeSelectorTerm: "MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement",
  NonResourcePolicyRule: "Verbs:* NonResourceURLs:*",
  ObjectFieldSelector: "APIVersion=apiVersion FieldPath",
  ObjectReference: "Kind Namespace Name UID=uid APIVersion=apiVersion ResourceVersion FieldPath",
  OpaqueDeviceConfiguration: "Driver Parameters:?",
  ParentReference: "Group Resource Namespace Name",
  PersistentVolumeClaimSpec:
    "AccessModes:* Selector:L Resources:VolumeResourceRequirements VolumeName StorageClassName:* VolumeMode:* DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*",
  PersistentVolumeClaimTemplate: "ObjectMeta:M Spec:PersistentVolumeClaimSpec",
  PersistentVolumeClaimVolumeSource: "ClaimName ReadOnly:b",
  PersistentVolumeSource:
    "GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource HostPath:*HostPathVolumeSource Glusterfs:*GlusterfsPersistentVolumeSource NFS=nfs:*NFSVolumeSource RBD=rbd:*RBDPersistentVolumeSource Quobyte:*QuobyteVolumeSource ISCSI=iscsi:*ISCSIPersistentVolumeSource FlexVolume:*FlexPersistentVolumeSource Cinder:*CinderPersistentVolumeSource CephFS=cephfs:*CephFSPersistentVolumeSource FC=fc:*FCVolumeSource Flocker:*FlockerVolumeSource AzureFile:*AzureFilePersistentVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOPersistentVolumeSource Local:*LocalVolumeSource StorageOS=storageos:*StorageOSPersistentVolumeSource CSI=csi:*CSIPersistentVolumeSource",
  PersistentVolumeSpec:
    "Capacity:{}q PersistentVolumeSource:^ AccessModes:* ClaimRef:*ObjectReference PersistentVolumeReclaimPolicy StorageClassName MountOptions:* VolumeMode:* NodeAffinity:*VolumeNodeAffinity VolumeAttributesClassName:*",
  PhotonPersistentDiskVolumeSource: "PdID FSType=fsType",
  PodAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm",
  PodAffinityTerm: "LabelSelector:L Namespaces:* TopologyKey NamespaceSelector:L MatchLabelKeys:* MismatchLabelKeys:*",
  PodAntiAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm PreferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm",
  PodCertificateProjection:
    "SignerName KeyType MaxExpirationSeconds:* CredentialBundlePath KeyPath CertificateChainPath UserAnnotations:*",
  PodDNSConfig: "Nameservers:* Searches:* Options:[]PodDNSConfigOption",
  PodDNSConfigOption: "Name Value:*",
  PodDisruptionBudgetSpec: "MinAvailable:* Selector:L MaxUnavailable:* UnhealthyPodEvictionPolicy:*",
  PodFailurePolicy: "Rules:[]PodFailurePolicyRule",
  PodFailurePolicyOnExitCodesRequirement: "ContainerName:* Operator Values:*",
  PodFailurePolicyOnPodConditionsPattern: "Type Status",
  PodFailurePolicyRule:
    "Action OnExitCodes:*PodFailurePolicyOnExitCodesRequirement OnPodConditions:[]PodFailurePolicyOnPodConditionsPattern",
  PodOS: "Name",
  PodReadinessGate: "ConditionType",
  PodResourceClaim: "Name ResourceClaimName:* ResourceClaimTemplateName:*",
  PodSchedulingGate: "Name",
  PodSchedulingGroup: "PodGroupName:*",
  PodSecurityContext:
    "HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:* HostUsers:* SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:* SupplementalGroups:* SupplementalGroupsPolicy:* FSGroup=fsGroup:* FSGroupChangePolicy=fsGroupChangePolicy:* Sysctls:[]Sysctl SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy=seLinuxChangePolicy:*",
  PodSpec:
    "Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:[]EphemeralContainer RestartPolicy TerminationGracePeriodSeconds:* ActiveDeadlineSeconds:* DNSPolicy=dnsPolicy NodeSelector:* ServiceAccountName AutomountServiceAccountToken:* NodeName SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname Subdomain SetHostnameAsFQDN:* Affinity:*Affinity SchedulerName Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName Priority:* PreemptionPolicy:* DNSConfig=dnsConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:* Overhead:{}q EnableServiceLinks:* TopologySpreadConstraints:[]TopologySpreadConstraint OS=os:*PodOS SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:* WorkloadRef:*WorkloadReference SchedulingGroup:*PodSchedulingGroup",
  PodTemplateSpec: "ObjectMeta:M Spec:PodSpec",
  PolicyRulesWithSubjects:
    "Subjects:[]FlowSubject ResourceRules:[]ResourcePolicyRule NonResourceRules:[]NonResourcePolicyRule",
  PortworxVolumeSource: "VolumeID FSType=fsType ReadOnly:b",
  PreferredSchedulingTerm: "Weight:n Preference:NodeSelectorTerm",
  PriorityLevelConfigurationReference: "Name",
  PriorityLevelConfigurationSpec:
    "Type Limited:*LimitedPriorityLevelConfiguration Exempt:*ExemptPriorityLevelConfiguration",
  Probe:
    "ProbeHandler:^ InitialDelaySeconds:n TimeoutSeconds:n PeriodSeconds:n SuccessThreshold:n FailureThreshold:n TerminationGracePeriodSeconds:*",
  ProbeHandler:
    "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction GRPC=grpc:*GRPCAction",
  ProjectedVolumeSource: "Sources:[]VolumeProjection DefaultMode:*",
  QueuingConfiguration: "Queues:n HandSize:n QueueLengthLimit:n",
  QuobyteVolumeSource: "Registry Volume ReadOnly:b User Group Tenant",
  RBDPersistentVolumeSource:
    "CephMonitors=monitors:* RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring SecretRef:*SecretReference ReadOnly:b",
  RBDVolumeSource:
    "CephMonitors=monitors:* RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring SecretRef:*LocalObjectReference ReadOnly:b",
  ResourceClaim: "Name Request",
  ResourceClaimSpec: "Devices:DeviceClaim",
  ResourceClaimTemplateSpec: "ObjectMeta:M Spec:ResourceClaimSpec",
  ResourceFieldSelector: "ContainerName Resource Divisor:q",
  ResourcePolicyRule: "Verbs:* APIGroups=apiGroups:* Resources:* ClusterScope:b Namespaces:*",
  ResourceRequirements: "Limits:{}q Requests:{}q Claims:[]ResourceClaim",
  RoleRef: "APIGroup=apiGroup Kind Name",
  RollingUpdateDaemonSet: "MaxUnavailable:n MaxSurge:n",
  RollingUpdateDeployment: "MaxUnavailable:n MaxSurge:n",
  RollingUpdateStatefulSetStrategy: "Partition:n MaxUnavailable:*",
  SELinuxOptions: "User Role Type Level",
  ScaleIOPersistentVolumeSource:
    "Gateway System SecretRef:*SecretReference SSLEnabled=sslEnabled:b ProtectionDomain StoragePool StorageMode VolumeName FSType=fsType ReadOnly:b",
  ScaleIOVolumeSource:
    "Gateway System SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:b ProtectionDomain StoragePool StorageMode VolumeName FSType=fsType ReadOnly:b",
  ScopeSelector: "MatchExpressions:[]ScopedResourceSelectorRequirement",
  ScopedResourceSelectorRequirement: "ScopeName Operator Values:*",
  SeccompProfile: "Type LocalhostProfile:*",
  SecretEnvSource: "LocalObjectReference:^ Optional:*",
  SecretKeySelector: "LocalObjectReference:^ Key Optional:*",
  SecretProjection: "LocalObjectReference:^ Items:[]KeyToPath Optional:*",
  SecretReference: "Name Namespace",
  SecretVolumeSource: "SecretName Items:[]KeyToPath DefaultMode:* Optional:*",
  SecurityContext:
    "Capabilities:*Capabilities Privileged:* SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:* ReadOnlyRootFilesystem:* AllowPrivilegeEscalation:* ProcMount:* SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile",
  SelectableField: "JSONPath=jsonPath",
  ServiceAccountSubject: "Namespace Name",
  ServiceAccountTokenProjection: "Audience ExpirationSeconds:n Path",
  SleepAction: "Seconds:n",
  StatefulSetUpdateStrategy: "Type RollingUpdate:*RollingUpdateStatefulSetStrategy",
  StorageOSPersistentVolumeSource: "VolumeName VolumeNamespace FSType=fsType ReadOnly:b SecretRef:*ObjectReference",
  StorageOSVolumeSource: "VolumeName VolumeNamespace FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference",
  SuccessPolicy: "Rules:[]SuccessPolicyRule",
  SuccessPolicyRule: "SucceededIndexes:* SucceededCount:*",
  Sysctl: "Name Value",
  TCPSocketAction: "Port:n Host",
  Taint: "Key Value Effect TimeAdded:*",
  Toleration: "Key Operator Value Effect TolerationSeconds:*",
  TopologySpreadConstraint:
    "MaxSkew:n TopologyKey WhenUnsatisfiable LabelSelector:L MinDomains:* NodeAffinityPolicy:* NodeTaintsPolicy:* MatchLabelKeys:*",
  TypedLocalObjectReference: "APIGroup=apiGroup:* Kind Name",
  TypedObjectReference: "APIGroup=apiGroup:* Kind Name Namespace:*",
  UserSubject: "Name",
  ValidationRule: "Rule Message MessageExpression Reason:* FieldPath OptionalOldSelf:*",
  Volume: "Name VolumeSource:^",
  VolumeAttachmentSource: "PersistentVolumeName:* InlineVolumeSpec:*PersistentVolumeSpec",
  VolumeAttachmentSpec: "Attacher Source:VolumeAttachmentSource NodeName",
  VolumeDevice: "Name DevicePath",
  VolumeMount: "Name ReadOnly:b RecursiveReadOnly:* MountPath SubPath MountPropagation:* SubPathExpr",
  VolumeNodeAffinity: "Required:*NodeSelector",
  VolumeNodeResources: "Count:*",
  VolumeProjection:
    "Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection PodCertificate:*PodCertificateProjection",
  VolumeResourceRequirements: "Limits:{}q Requests:{}q",
  VolumeSource:
    "HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource ISCSI=iscsi:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD=rbd:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS=cephfs:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC=fc:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS=storageos:*StorageOSVolumeSource CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource",
  VsphereVirtualDiskVolumeSource: "VolumePath FSType=fsType StoragePolicyName StoragePolicyID",
  WeightedPodAffinityTerm: "Weight:n PodAffinityTerm:PodAffinityTerm",
  WindowsSecurityContextOptions:
    "GMSACredentialSpecName=gmsaCredentialSpecName:* GMSACredentialSpec=gmsaCredentialSpec:* RunAsUserName:* HostProcess:*",
  WorkloadReference: "Name PodGroup PodGroupReplicaKey",
} as const satisfies Readonly<Record<string, string>>;

export type InternalType = keyof typeof INTERNAL_TYPES;
