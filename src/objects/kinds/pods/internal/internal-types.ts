/** How kube-apiserver names the parts of a pod's spec among itself: what it shows when it shows a whole part. */
import type { ReleaseGate } from "../../../release-gates.ts";

/** Members that some releases do not have, by `Type.Member`. */
export const MEMBER_GATES: ReadonlyMap<string, ReleaseGate> = new Map<string, ReleaseGate>([
  ["PodCertificateProjection.UserAnnotations", "PodCertificateUserAnnotations"],
  ["PodSpec.SchedulingGroup", "PodSchedulingGroup"],
  ["PodSpec.WorkloadRef", "PodWorkloadRef"],
]);

/**
 * One type a line: its members in order, as `Name`, `Name=member of v1`, `Name:shape`.
 * Shapes: none is a text, `b` a truth, `n` a number, `q` a quantity, `*` whatever may be absent, `Type`, `*Type` and
 * `[]Type` are other types, `^` has its members among these, `L` is a label selector, `M` object metadata.
 */
export const INTERNAL_TYPES: Readonly<Record<string, string>> = {
  AWSElasticBlockStoreVolumeSource: "VolumeID FSType=fsType Partition:n ReadOnly:b",
  Affinity: "NodeAffinity:*NodeAffinity PodAffinity:*PodAffinity PodAntiAffinity:*PodAntiAffinity",
  AppArmorProfile: "Type LocalhostProfile:*",
  AzureDiskVolumeSource: "DiskName DataDiskURI=diskURI CachingMode:* FSType=fsType:* ReadOnly:* Kind:*",
  AzureFileVolumeSource: "SecretName ShareName ReadOnly:b",
  CSIVolumeSource: "Driver ReadOnly:* FSType=fsType:* VolumeAttributes:* NodePublishSecretRef:*LocalObjectReference",
  Capabilities: "Add:* Drop:*",
  CephFSVolumeSource: "Monitors:* Path User SecretFile SecretRef:*LocalObjectReference ReadOnly:b",
  CinderVolumeSource: "VolumeID FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference",
  ClusterTrustBundleProjection: "Name:* SignerName:* LabelSelector:L Optional:* Path",
  ConfigMapEnvSource: "LocalObjectReference:^ Optional:*",
  ConfigMapKeySelector: "LocalObjectReference:^ Key Optional:*",
  ConfigMapProjection: "LocalObjectReference:^ Items:[]KeyToPath Optional:*",
  ConfigMapVolumeSource: "LocalObjectReference:^ Items:[]KeyToPath DefaultMode:* Optional:*",
  Container:
    "Name Image Command:* Args:* WorkingDir Ports:[]ContainerPort EnvFrom:[]EnvFromSource Env:[]EnvVar Resources:ResourceRequirements ResizePolicy:[]ContainerResizePolicy RestartPolicy:* RestartPolicyRules:[]ContainerRestartRule VolumeMounts:[]VolumeMount VolumeDevices:[]VolumeDevice LivenessProbe:*Probe ReadinessProbe:*Probe StartupProbe:*Probe Lifecycle:*Lifecycle TerminationMessagePath TerminationMessagePolicy ImagePullPolicy SecurityContext:*SecurityContext Stdin:b StdinOnce:b TTY=tty:b",
  ContainerPort: "Name HostPort:n ContainerPort:n Protocol HostIP",
  ContainerResizePolicy: "ResourceName RestartPolicy",
  ContainerRestartRule: "Action ExitCodes:*ContainerRestartRuleOnExitCodes",
  ContainerRestartRuleOnExitCodes: "Operator Values:*",
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
  ExecAction: "Command:*",
  FCVolumeSource: "TargetWWNs:* Lun:* FSType=fsType ReadOnly:b WWIDs=wwids:*",
  FileKeySelector: "VolumeName Path Key Optional:*",
  FlexVolumeSource: "Driver FSType=fsType SecretRef:*LocalObjectReference ReadOnly:b Options:*",
  FlockerVolumeSource: "DatasetName DatasetUUID",
  GCEPersistentDiskVolumeSource: "PDName=pdName FSType=fsType Partition:n ReadOnly:b",
  GRPCAction: "Port:n Service:*",
  GitRepoVolumeSource: "Repository Revision Directory",
  GlusterfsVolumeSource: "EndpointsName=endpoints Path ReadOnly:b",
  HTTPGetAction: "Path Port:n Host Scheme HTTPHeaders=httpHeaders:[]HTTPHeader",
  HTTPHeader: "Name Value",
  HostAlias: "IP=ip Hostnames:*",
  HostPathVolumeSource: "Path Type:*",
  ISCSIVolumeSource:
    "TargetPortal IQN=iqn Lun:n ISCSIInterface=iscsiInterface FSType=fsType ReadOnly:b Portals:* DiscoveryCHAPAuth=chapAuthDiscovery:b SessionCHAPAuth=chapAuthSession:b SecretRef:*LocalObjectReference InitiatorName:*",
  ImageVolumeSource: "Reference PullPolicy",
  KeyToPath: "Key Path Mode:*",
  Lifecycle: "PostStart:*LifecycleHandler PreStop:*LifecycleHandler StopSignal:*",
  LifecycleHandler:
    "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction Sleep:*SleepAction",
  LocalObjectReference: "Name",
  NFSVolumeSource: "Server Path ReadOnly:b",
  NodeAffinity:
    "RequiredDuringSchedulingIgnoredDuringExecution:*NodeSelector PreferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm",
  NodeSelector: "NodeSelectorTerms:[]NodeSelectorTerm",
  NodeSelectorRequirement: "Key Operator Values:*",
  NodeSelectorTerm: "MatchExpressions:[]NodeSelectorRequirement MatchFields:[]NodeSelectorRequirement",
  ObjectFieldSelector: "APIVersion=apiVersion FieldPath",
  PersistentVolumeClaimSpec:
    "AccessModes:* Selector:L Resources:VolumeResourceRequirements VolumeName StorageClassName:* VolumeMode:* DataSource:*TypedLocalObjectReference DataSourceRef:*TypedObjectReference VolumeAttributesClassName:*",
  PersistentVolumeClaimTemplate: "ObjectMeta:M Spec:PersistentVolumeClaimSpec",
  PersistentVolumeClaimVolumeSource: "ClaimName ReadOnly:b",
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
  PodOS: "Name",
  PodReadinessGate: "ConditionType",
  PodResourceClaim: "Name ResourceClaimName:* ResourceClaimTemplateName:*",
  PodSchedulingGate: "Name",
  PodSchedulingGroup: "PodGroupName:*",
  PodSecurityContext:
    "HostNetwork:b HostPID:b HostIPC:b ShareProcessNamespace:* HostUsers:* SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:* SupplementalGroups:* SupplementalGroupsPolicy:* FSGroup=fsGroup:* FSGroupChangePolicy=fsGroupChangePolicy:* Sysctls:[]Sysctl SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile SELinuxChangePolicy=seLinuxChangePolicy:*",
  PodSpec:
    "Volumes:[]Volume InitContainers:[]Container Containers:[]Container EphemeralContainers:[]EphemeralContainer RestartPolicy TerminationGracePeriodSeconds:* ActiveDeadlineSeconds:* DNSPolicy=dnsPolicy NodeSelector:* ServiceAccountName AutomountServiceAccountToken:* NodeName SecurityContext:*PodSecurityContext ImagePullSecrets:[]LocalObjectReference Hostname Subdomain SetHostnameAsFQDN:* Affinity:*Affinity SchedulerName Tolerations:[]Toleration HostAliases:[]HostAlias PriorityClassName Priority:* PreemptionPolicy:* DNSConfig=dnsConfig:*PodDNSConfig ReadinessGates:[]PodReadinessGate RuntimeClassName:* Overhead:* EnableServiceLinks:* TopologySpreadConstraints:[]TopologySpreadConstraint OS=os:*PodOS SchedulingGates:[]PodSchedulingGate ResourceClaims:[]PodResourceClaim Resources:*ResourceRequirements HostnameOverride:* WorkloadRef:*WorkloadReference SchedulingGroup:*PodSchedulingGroup",
  PortworxVolumeSource: "VolumeID FSType=fsType ReadOnly:b",
  PreferredSchedulingTerm: "Weight:n Preference:NodeSelectorTerm",
  Probe:
    "ProbeHandler:^ InitialDelaySeconds:n TimeoutSeconds:n PeriodSeconds:n SuccessThreshold:n FailureThreshold:n TerminationGracePeriodSeconds:*",
  ProbeHandler:
    "Exec:*ExecAction HTTPGet=httpGet:*HTTPGetAction TCPSocket=tcpSocket:*TCPSocketAction GRPC=grpc:*GRPCAction",
  ProjectedVolumeSource: "Sources:[]VolumeProjection DefaultMode:*",
  QuobyteVolumeSource: "Registry Volume ReadOnly:b User Group Tenant",
  RBDVolumeSource:
    "CephMonitors=monitors:* RBDImage=image FSType=fsType RBDPool=pool RadosUser=user Keyring SecretRef:*LocalObjectReference ReadOnly:b",
  ResourceClaim: "Name Request",
  ResourceFieldSelector: "ContainerName Resource Divisor:q",
  ResourceRequirements: "Limits:* Requests:* Claims:[]ResourceClaim",
  SELinuxOptions: "User Role Type Level",
  ScaleIOVolumeSource:
    "Gateway System SecretRef:*LocalObjectReference SSLEnabled=sslEnabled:b ProtectionDomain StoragePool StorageMode VolumeName FSType=fsType ReadOnly:b",
  SeccompProfile: "Type LocalhostProfile:*",
  SecretEnvSource: "LocalObjectReference:^ Optional:*",
  SecretKeySelector: "LocalObjectReference:^ Key Optional:*",
  SecretProjection: "LocalObjectReference:^ Items:[]KeyToPath Optional:*",
  SecretVolumeSource: "SecretName Items:[]KeyToPath DefaultMode:* Optional:*",
  SecurityContext:
    "Capabilities:*Capabilities Privileged:* SELinuxOptions=seLinuxOptions:*SELinuxOptions WindowsOptions:*WindowsSecurityContextOptions RunAsUser:* RunAsGroup:* RunAsNonRoot:* ReadOnlyRootFilesystem:* AllowPrivilegeEscalation:* ProcMount:* SeccompProfile:*SeccompProfile AppArmorProfile:*AppArmorProfile",
  ServiceAccountTokenProjection: "Audience ExpirationSeconds:n Path",
  SleepAction: "Seconds:n",
  StorageOSVolumeSource: "VolumeName VolumeNamespace FSType=fsType ReadOnly:b SecretRef:*LocalObjectReference",
  Sysctl: "Name Value",
  TCPSocketAction: "Port:n Host",
  Toleration: "Key Operator Value Effect TolerationSeconds:*",
  TopologySpreadConstraint:
    "MaxSkew:n TopologyKey WhenUnsatisfiable LabelSelector:L MinDomains:* NodeAffinityPolicy:* NodeTaintsPolicy:* MatchLabelKeys:*",
  TypedLocalObjectReference: "APIGroup=apiGroup:* Kind Name",
  TypedObjectReference: "APIGroup=apiGroup:* Kind Name Namespace:*",
  Volume: "Name VolumeSource:^",
  VolumeDevice: "Name DevicePath",
  VolumeMount: "Name ReadOnly:b RecursiveReadOnly:* MountPath SubPath MountPropagation:* SubPathExpr",
  VolumeProjection:
    "Secret:*SecretProjection DownwardAPI:*DownwardAPIProjection ConfigMap:*ConfigMapProjection ServiceAccountToken:*ServiceAccountTokenProjection ClusterTrustBundle:*ClusterTrustBundleProjection PodCertificate:*PodCertificateProjection",
  VolumeResourceRequirements: "Limits:* Requests:*",
  VolumeSource:
    "HostPath:*HostPathVolumeSource EmptyDir:*EmptyDirVolumeSource GCEPersistentDisk=gcePersistentDisk:*GCEPersistentDiskVolumeSource AWSElasticBlockStore=awsElasticBlockStore:*AWSElasticBlockStoreVolumeSource GitRepo:*GitRepoVolumeSource Secret:*SecretVolumeSource NFS=nfs:*NFSVolumeSource ISCSI=iscsi:*ISCSIVolumeSource Glusterfs:*GlusterfsVolumeSource PersistentVolumeClaim:*PersistentVolumeClaimVolumeSource RBD=rbd:*RBDVolumeSource Quobyte:*QuobyteVolumeSource FlexVolume:*FlexVolumeSource Cinder:*CinderVolumeSource CephFS=cephfs:*CephFSVolumeSource Flocker:*FlockerVolumeSource DownwardAPI:*DownwardAPIVolumeSource FC=fc:*FCVolumeSource AzureFile:*AzureFileVolumeSource ConfigMap:*ConfigMapVolumeSource VsphereVolume:*VsphereVirtualDiskVolumeSource AzureDisk:*AzureDiskVolumeSource PhotonPersistentDisk:*PhotonPersistentDiskVolumeSource Projected:*ProjectedVolumeSource PortworxVolume:*PortworxVolumeSource ScaleIO:*ScaleIOVolumeSource StorageOS=storageos:*StorageOSVolumeSource CSI=csi:*CSIVolumeSource Ephemeral:*EphemeralVolumeSource Image:*ImageVolumeSource",
  VsphereVirtualDiskVolumeSource: "VolumePath FSType=fsType StoragePolicyName StoragePolicyID",
  WeightedPodAffinityTerm: "Weight:n PodAffinityTerm:PodAffinityTerm",
  WindowsSecurityContextOptions:
    "GMSACredentialSpecName=gmsaCredentialSpecName:* GMSACredentialSpec=gmsaCredentialSpec:* RunAsUserName:* HostProcess:*",
  WorkloadReference: "Name PodGroup PodGroupReplicaKey",
};
