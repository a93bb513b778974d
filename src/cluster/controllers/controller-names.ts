/** The names of the controllers that a server runs while it leads, as in --controllers and in metrics. */
export const CONTROLLERS = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "resourcequota-controller",
  "persistentvolumeclaim-protection-controller",
  "persistentvolume-protection-controller",
  "volumeattributesclass-protection-controller",
  "storage-version-garbage-collector",
  "storage-version-migrator",
  "storage-version-migrator-controller",
] as const;

export type ControllerName = (typeof CONTROLLERS)[number];

/**
 * The controllers that every release of kube-controller-manager runs by default. It runs none of the storage version
 * controllers by default: their feature gates StorageVersionAPI and StorageVersionMigrator are off. It runs the
 * protection of VolumeAttributesClasses only since 1.34, and its lease does not show its release; two of these
 * controllers do not disturb each other, because they only remove the finalizer of a deleted object that is unused.
 */
export const KUBE_CONTROLLER_MANAGER_CONTROLLERS: readonly ControllerName[] = [
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "resourcequota-controller",
  "persistentvolumeclaim-protection-controller",
  "persistentvolume-protection-controller",
];
