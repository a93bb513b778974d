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
 * The controllers that every release of kube-controller-manager runs by default. Its lease does not show its release, so
 * these are not among them:
 *
 * - the protection of VolumeAttributesClasses, which it runs since 1.34. Two of these controllers do not disturb each
 *   other, because they only remove the finalizer of a deleted object that is unused;
 * - the storage version controllers. Their feature gates are off, except that of storage-version-migrator-controller since
 *   1.37, whose migrations do not wait until all servers write the same version.
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
