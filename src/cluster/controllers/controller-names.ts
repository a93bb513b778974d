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

/**
 * The controllers that kube-controller-manager also runs by default. It runs none of the storage version controllers by
 * default: their feature gates StorageVersionAPI and StorageVersionMigrator are off.
 */
export const KUBE_CONTROLLER_MANAGER_CONTROLLERS: readonly string[] = CONTROLLERS.filter(
  (name) => !name.startsWith("storage-version-"),
);

export type ControllerName = (typeof CONTROLLERS)[number];
