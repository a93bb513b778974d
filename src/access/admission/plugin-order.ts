/** kube-apiserver's admission plugins: their order, which of them are on, and how the flags choose among them. */

interface PluginEntry {
  readonly name: string;
  readonly isOn: boolean;
  /** "elsewhere": the rules of the kinds and the registry do it always. */
  readonly done: "plugin" | "elsewhere" | "no";
}

const on = (name: string, done: PluginEntry["done"]): PluginEntry => ({ name, isOn: true, done });
const off = (name: string, done: PluginEntry["done"]): PluginEntry => ({ name, isOn: false, done });

/** As kube-apiserver 1.36 orders them. */
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

/** As --enable-admission-plugins and --disable-admission-plugins list them. */
interface PluginChoice {
  readonly enable: readonly string[];
  readonly disable: readonly string[];
}

/** What is wrong with the choice, in kube-apiserver's sentences where it has them. */
export function pluginChoiceErrors({ enable, disable }: PluginChoice): string[] {
  const unknown = (flag: string, names: readonly string[]): string[] =>
    names.filter((name) => !NAMES.has(name)).map((name) => `${flag} plugin ${JSON.stringify(name)} is unknown`);
  const both = [...new Set(enable.filter((name) => disable.includes(name)))].sort();
  return [
    ...unknown("enable-admission-plugins", enable),
    ...unknown("disable-admission-plugins", disable),
    // DIFFERS: whoever asks for a check must not believe that it is made.
    ...PLUGINS.filter(({ name, isOn, done }) => !isOn && done === "no" && enable.includes(name)).map(
      ({ name }) => `enable-admission-plugins plugin ${JSON.stringify(name)} does nothing here`,
    ),
    ...(both.length === 0
      ? []
      : [`[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`]),
  ];
}

/** The names of those that are on, in order. */
export function enabledPlugins({ enable, disable }: PluginChoice): readonly string[] {
  return PLUGINS.filter(({ name, isOn }) => enable.includes(name) || (isOn && !disable.includes(name))).map(
    ({ name }) => name,
  );
}

export function defaultPlugins(): readonly string[] {
  return enabledPlugins({ enable: [], disable: [] });
}

/** In the order of the alphabet, as --help lists them. */
export function registeredPlugins(): readonly string[] {
  return [...NAMES].sort();
}

/** Nothing here does what they do. */
export function missingPlugins(): readonly string[] {
  return PLUGINS.filter(({ done }) => done === "no").map(({ name }) => name);
}

/** Done whatever the flags say: the registry and the kinds see to it. */
export function fixedPlugins(): readonly string[] {
  return PLUGINS.filter(({ done }) => done === "elsewhere").map(({ name }) => name);
}

/** In kubernetes' order, whatever their own. */
export function inPluginOrder<Plugin extends { readonly name: string }>(plugins: readonly Plugin[]): Plugin[] {
  const place = new Map(PLUGINS.map(({ name }, index) => [name, index]));
  return [...plugins].sort((left, right) => (place.get(left.name) ?? 0) - (place.get(right.name) ?? 0));
}
