/**
 * What a server of a release serves and stores, given its flags. A catalogue holds only what is served:
 * a resource without a served version, a group version without a resource and a group without a version
 * are not in it.
 */
import { storedResources } from "./data-files.ts";
import { resolveFeatureGates } from "./feature-gates.ts";
import { isWithin, releaseInfo, valueAt } from "./release.ts";
import type { ReleaseInfo, ReleaseName } from "./release.ts";
import { checkRuntimeConfig, EMPTY_RUNTIME_CONFIG, runtimeConfigState } from "./runtime-config.ts";
import type { RuntimeConfig } from "./runtime-config.ts";
import { openSchemas } from "./schema-source.ts";
import type { SchemaSource } from "./schema-source.ts";
import type {
  FieldSelectorErrorStyle,
  StoredFieldSelectors,
  StoredGroup,
  StoredLifecycle,
  StoredResource,
  StoredSubresource,
  StoredVersion,
} from "./stored-format.ts";

export interface Catalogue {
  readonly release: ReleaseInfo;
  /** In the order of /apis; the core group "" comes first. */
  readonly groups: readonly CatalogueGroup[];
  readonly schemas: SchemaSource;
  resource(group: string, resource: string): CatalogueResource | undefined;
}

export interface CatalogueGroup {
  readonly name: string;
  /** Served ones, in the order discovery shows them. */
  readonly versions: readonly string[];
  readonly preferredVersion: string;
  /** By name. */
  readonly resources: readonly CatalogueResource[];
  /** By served version: the priorities of its APIService; apiregistration.k8s.io has none. */
  readonly apiServicePriorities: ReadonlyMap<string, ApiServicePriority>;
}

export interface ApiServicePriority {
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

export interface CatalogueResource {
  readonly group: string;
  readonly resource: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Key part under the storage root, such as "services/specs"; undefined for what is never stored. */
  readonly storagePrefix: string | undefined;
  /** Group version in which this release writes objects, such as "v1"; undefined for what is never stored. */
  readonly storageVersion: string | undefined;
  /** Group versions this release can read from the store, most preferred first. */
  readonly decodableVersions: readonly string[];
  /** Served ones, in the group's order. */
  readonly versions: readonly CatalogueVersion[];
}

export interface CatalogueVersion {
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly CatalogueSubresource[];
  readonly lifecycle?: StoredLifecycle;
  /** Every field label a selector may use. */
  readonly fieldSelectors: readonly string[];
  /** Labels that mean another label, such as spec.host, which means spec.nodeName. */
  readonly fieldSelectorAliases: Readonly<Record<string, string>>;
  /**
   * What an unknown label is answered with:
   * default: `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`;
   * label: `field label not supported: x`;
   * kind-label: `field label not supported for <group/version, Kind=Kind>: x`;
   * quoted-label: `field label "x" not supported for <Kind>`.
   */
  readonly fieldSelectorErrorStyle: FieldSelectorErrorStyle;
}

export interface CatalogueSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
}

export interface CatalogueOptions {
  readonly release: ReleaseName;
  readonly runtimeConfig?: RuntimeConfig;
  /** Overrides of the gates in `catalogueGateNames`; any other name is an error. */
  readonly featureGates?: ReadonlyMap<string, boolean>;
  /** Serve by default what this project adds to every release (EXTENSION_GROUP_VERSIONS). */
  readonly extensions?: boolean;
}

/** Agreement on storage versions needs this API in every release, although Kubernetes keeps it off. */
export const EXTENSION_GROUP_VERSIONS: readonly string[] = ["internal.apiserver.k8s.io/v1alpha1"];

export const ALL_VERBS: readonly string[] = Object.freeze([
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
]);

const DEFAULT_FIELD_SELECTORS: StoredFieldSelectors = Object.freeze({
  labels: Object.freeze(["metadata.name", "metadata.namespace"]),
  errorStyle: "default",
});

interface View {
  readonly release: ReleaseName;
  readonly runtimeConfig: RuntimeConfig;
  readonly gates: ReadonlyMap<string, boolean>;
  readonly extensions: ReadonlySet<string>;
}

export function openCatalogue(options: CatalogueOptions): Catalogue {
  const { release, runtimeConfig = EMPTY_RUNTIME_CONFIG, featureGates = new Map() } = options;
  checkRuntimeConfig(runtimeConfig, knownGroupVersions(release));
  const gates = resolveFeatureGates(release, featureGates);
  const extensions = new Set(options.extensions ? EXTENSION_GROUP_VERSIONS : []);
  const view: View = { release, runtimeConfig, gates, extensions };
  const groups = groupsInOrder(release).flatMap((group) => toGroup(group, view) ?? []);
  const resources = new Map(
    groups.flatMap((group) => group.resources.map((resource) => [`${group.name}/${resource.resource}`, resource])),
  );
  return {
    release: releaseInfo(release),
    groups,
    // Decoded when first asked for: who only looks at what is served does not pay for schemas.
    get schemas() {
      return openSchemas(release);
    },
    resource: (group, resource) => resources.get(`${group}/${resource}`),
  };
}

function groupsInOrder(release: ReleaseName): readonly StoredGroup[] {
  const { groupOrder, groups } = storedResources();
  const byName = new Map(groups.map((group) => [group.name, group]));
  return (valueAt(groupOrder, release) ?? []).flatMap((name) => byName.get(name) ?? []);
}

function toGroup(group: StoredGroup, view: View): CatalogueGroup | undefined {
  const order = valueAt(group.versions, view.release) ?? [];
  const stored = storedResources().resources.filter((resource) => resource.group === group.name);
  const resources = stored.flatMap((resource) => toResource(resource, order, view) ?? []);
  const served = new Set(resources.flatMap((resource) => resource.versions.map(({ version }) => version)));
  const versions = order.filter((version) => served.has(version));
  const preferredVersion = versions[0];
  if (preferredVersion === undefined) return undefined;
  const apiServicePriorities = new Map<string, ApiServicePriority>();
  for (const version of versions) {
    const priority = valueAt(group.priorities[version] ?? [], view.release);
    if (priority === undefined) continue;
    apiServicePriorities.set(version, { groupPriorityMinimum: priority[0], versionPriority: priority[1] });
  }
  return { name: group.name, versions, preferredVersion, resources, apiServicePriorities };
}

function toResource(stored: StoredResource, order: readonly string[], view: View): CatalogueResource | undefined {
  const versions = order.filter((version) => isServed(stored, version, view));
  if (versions.length === 0) return undefined;
  const storageVersion = stored.storage && valueAt(stored.storage, view.release);
  return {
    group: stored.group,
    resource: stored.resource,
    singular: stored.singular,
    namespaced: stored.namespaced,
    shortNames: stored.shortNames ?? [],
    categories: stored.categories ?? [],
    storagePrefix: storageVersion === undefined ? undefined : (stored.prefix ?? stored.resource),
    storageVersion,
    decodableVersions: (stored.decodable && valueAt(stored.decodable, view.release)) ?? [],
    versions: versions.map((version) => toVersion(stored, version, view)),
  };
}

function isServed(stored: StoredResource, version: string, view: View): boolean {
  const storedVersion = stored.versions[version];
  const defaultState = storedVersion && valueAt(storedVersion.served, view.release);
  if (storedVersion === undefined || defaultState === undefined) return false;
  if (!isGateOpen(storedVersion.gate, view)) return false;
  const { group, resource } = stored;
  const isOnByDefault = defaultState === "on" || view.extensions.has(`${group}/${version}`);
  return runtimeConfigState(view.runtimeConfig, { group, version, resource }) ?? isOnByDefault;
}

function isGateOpen(gate: string | undefined, view: View): boolean {
  return gate === undefined || view.gates.get(gate) === true;
}

function toVersion(resource: StoredResource, version: string, view: View): CatalogueVersion {
  const stored = resource.versions[version] as StoredVersion;
  const lifecycle = stored.lifecycle && valueAt(stored.lifecycle, view.release);
  const selectors = (stored.fieldSelectors && valueAt(stored.fieldSelectors, view.release)) ?? DEFAULT_FIELD_SELECTORS;
  const subresources = (resource.subresources ?? []).filter((subresource) => isPresent(subresource, version, view));
  return {
    version,
    kind: stored.kind,
    listKind: `${stored.kind}List`,
    verbs: stored.verbs ?? ALL_VERBS,
    subresources: subresources.map((subresource) => toSubresource(subresource, version)),
    ...(lifecycle && { lifecycle }),
    fieldSelectors: selectors.labels,
    fieldSelectorAliases: stored.fieldSelectorAliases ?? {},
    fieldSelectorErrorStyle: selectors.errorStyle,
  };
}

function isPresent(subresource: StoredSubresource, version: string, view: View): boolean {
  if (!isGateOpen(subresource.gate, view)) return false;
  return subresource.present === undefined || valueAt(subresource.present[version] ?? [], view.release) === true;
}

function toSubresource({ name, verbs, responseKind }: StoredSubresource, version: string): CatalogueSubresource {
  if (responseKind.version !== "*") return { name, verbs, responseKind };
  return { name, verbs, responseKind: { ...responseKind, version } };
}

/** Everything the release has types for: what it can serve, what it can still decode, and the rest of its scheme. */
function knownGroupVersions(release: ReleaseName): ReadonlySet<string> {
  const { groups, resources, registered } = storedResources();
  const known = new Set<string>();
  for (const { name, versions } of groups) {
    for (const version of valueAt(versions, release) ?? []) known.add(name === "" ? version : `${name}/${version}`);
  }
  for (const { decodable = [] } of resources) {
    for (const groupVersion of valueAt(decodable, release) ?? []) known.add(groupVersion);
  }
  for (const [groupVersion, range] of Object.entries(registered)) {
    if (isWithin(range, release)) known.add(groupVersion);
  }
  return known;
}
