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
