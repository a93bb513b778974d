/** kube-apiserver's admission plugins: their order, their defaults, and the flags that enable and disable them. */

interface PluginEntry {
  readonly name: string;
  readonly isOn: boolean;
  /**
   * "plugin": implemented as a plugin. "elsewhere": always enforced, by the kinds or the registry. "no": not
   * implemented.
   */
  readonly done: "plugin" | "elsewhere" | "no";
}

const on = (name: string, done: PluginEntry["done"]): PluginEntry => ({ name, isOn: true, done });
const off = (name: string, done: PluginEntry["done"]): PluginEntry => ({ name, isOn: false, done });

/** All plugins, in the order of kube-apiserver 1.36. */
const PLUGINS: readonly PluginEntry[] = [
  off("AlwaysAdmit", "plugin"),
  off("NamespaceAutoProvision", "no"),
  on("NamespaceLifecycle", "elsewhere"),
  off("NamespaceExists", "elsewhere"),
  off("LimitPodHardAntiAffinityTopology", "plugin"),
  on("LimitRanger", "plugin"),
  on("ServiceAccount", "plugin"),
  off("NodeRestriction", "plugin"),
  on("TaintNodesByCondition", "plugin"),
  off("AlwaysPullImages", "plugin"),
  off("ImagePolicyWebhook", "no"),
  on("PodSecurity", "plugin"),
  off("PodNodeSelector", "no"),
  on("Priority", "plugin"),
  on("DefaultTolerationSeconds", "plugin"),
  off("PodTolerationRestriction", "no"),
  off("EventRateLimit", "no"),
  off("ExtendedResourceToleration", "plugin"),
  on("DefaultStorageClass", "plugin"),
  on("StorageObjectInUseProtection", "elsewhere"),
  on("PodGroupProtection", "no"),
  off("OwnerReferencesPermissionEnforcement", "plugin"),
  on("PersistentVolumeClaimResize", "plugin"),
  on("RuntimeClass", "plugin"),
  on("CertificateApproval", "plugin"),
  on("CertificateSigning", "plugin"),
  on("ClusterTrustBundleAttest", "plugin"),
  on("CertificateSubjectRestriction", "plugin"),
  on("DefaultIngressClass", "plugin"),
  off("DenyServiceExternalIPs", "plugin"),
  on("PodTopologyLabels", "plugin"),
  on("PodGroupWorkloadExists", "no"),
  on("NodeDeclaredFeatureValidator", "no"),
  on("JobValidation", "no"),
  on("PodResizeValidator", "no"),
  on("MutatingAdmissionPolicy", "plugin"),
  on("MutatingAdmissionWebhook", "plugin"),
  on("ValidatingAdmissionPolicy", "plugin"),
  on("ValidatingAdmissionWebhook", "plugin"),
  on("ResourceQuota", "plugin"),
  off("AlwaysDeny", "plugin"),
];

const NAMES: ReadonlySet<string> = new Set(PLUGINS.map(({ name }) => name));

/** The values of --enable-admission-plugins and --disable-admission-plugins. */
interface PluginChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/**
 * Validates the values of both flags. The messages are kube-apiserver's, except for plugins that are not implemented.
 */
export function pluginChoiceErrors({ enable, disable }: PluginChoice): string[] {
  const unknown = (flag: string, names: readonly string[]): string[] =>
    names.filter((name) => !NAMES.has(name)).map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`);
  const both = [...new Set(enable.filter((name) => disable.includes(name)))].sort();
  return [
    ...unknown("enable-admission-plugins", enable),
    ...unknown("disable-admission-plugins", disable),
    // DIFFERS: enabling a plugin that is off by default and not implemented is an error, so that no operator relies on
    // its checks.
    ...PLUGINS.filter(({ name, isOn, done }) => !isOn && done === "no" && enable.includes(name)).map(
      ({ name }) => `enable-admission-plugins plugin ${JSON.stringify(name)} is not implemented`,
    ),
    ...(both.length === 0
      ? []
      : [`[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`]),
  ];
}

/** The names of the enabled plugins, in the order in which the plugins run. */
export function enabledPlugins({ enable, disable }: PluginChoice): readonly string[] {
  return PLUGINS.filter(({ name, isOn }) => enable.includes(name) || (isOn && !disable.includes(name))).map(
    ({ name }) => name,
  );
}

export function defaultPlugins(): readonly string[] {
  return enabledPlugins({ enable: [], disable: [] });
}

/** The names of all plugins in alphabetical order, as --help lists them. */
export function registeredPlugins(): readonly string[] {
  return [...NAMES].sort();
}

/** The plugins that are not implemented. */
export function missingPlugins(): readonly string[] {
  return PLUGINS.filter(({ done }) => done === "no").map(({ name }) => name);
}

/** The plugins that flags cannot disable, because the registry or the kinds enforce their rules. */
export function fixedPlugins(): readonly string[] {
  return PLUGINS.filter(({ done }) => done === "elsewhere").map(({ name }) => name);
}

/** Sorts plugins in kubernetes' order. */
export function inPluginOrder<Plugin extends { readonly name: string }>(plugins: readonly Plugin[]): Plugin[] {
  const place = new Map(PLUGINS.map(({ name }, index) => [name, index]));
  return [...plugins].sort((left, right) => (place.get(left.name) ?? 0) - (place.get(right.name) ?? 0));
}
