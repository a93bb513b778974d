/**
 * The resources that a server of a release serves and stores, given its flags. A catalog holds only what is served: it
 * omits a resource without a served version, a group version without a resource and a group without a version.
 */
import { storedResources } from "./data-files.ts";
import {
  emulatedStorage,
  isKnownToBinary,
  laterVersions,
  rejectLaterGroupVersions,
  type Emulation,
} from "./emulation.ts";
import { resolveFeatureGates } from "./feature-gates.ts";
import { isWithin, releaseInfo, valueIn, type ChangePoints, type ReleaseInfo, type ReleaseName } from "./release.ts";
import { checkRuntimeConfig, EMPTY_RUNTIME_CONFIG, runtimeConfigState, type RuntimeConfig } from "./runtime-config.ts";
import { openSchemas, type SchemaSource } from "./schema-source.ts";
import type {
  FieldSelectorErrorStyle,
  StoredFieldSelectors,
  StoredGroup,
  StoredLifecycle,
  ResourceHistory,
  StoredSubresource,
  StoredVersion,
} from "./stored-format.ts";

export interface Catalog {
  /** The release as which the server behaves. */
  readonly release: ReleaseInfo;
  /** Undefined unless --emulated-version or --min-compatibility-version is set. */
  readonly emulation: Emulation | undefined;
  /** In the order of /apis; the core group "" is first. */
  readonly groups: readonly CatalogGroup[];
  readonly schemas: SchemaSource;
  resource(group: string, resource: string): CatalogResource | undefined;
}

export interface CatalogGroup {
  readonly name: string;
  /** Served versions, in the order of discovery. */
  readonly versions: readonly string[];
  readonly preferredVersion: string;
  /** Sorted by name. */
  readonly resources: readonly CatalogResource[];
  /** The priorities of the APIService of each served version; apiregistration.k8s.io has none. */
  readonly apiServicePriorities: ReadonlyMap<string, ApiServicePriority>;
}

interface ApiServicePriority {
  readonly groupPriorityMinimum: number;
  readonly versionPriority: number;
}

export interface CatalogResource {
  readonly group: string;
  readonly resource: string;
  /** Set for the resource of a CRD. */
  readonly isCustom?: true;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Key prefix under the storage root, such as "services/specs"; undefined for a resource that is never stored. */
  readonly storagePrefix: string | undefined;
  /** Group version in which the server writes objects, such as "v1"; undefined for a resource that is never stored. */
  readonly storageVersion: string | undefined;
  /** Group versions that the server can decode from the store, most preferred first. */
  readonly decodableVersions: readonly string[];
  /** Served versions, in the order of the group. */
  readonly versions: readonly CatalogVersion[];
}

export interface CatalogVersion {
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly CatalogSubresource[];
  readonly lifecycle?: StoredLifecycle;
  /** All field labels that a selector may use. */
  readonly fieldSelectors: readonly string[];
  /** Labels that are aliases, such as spec.host for spec.nodeName. */
  readonly fieldSelectorAliases: Readonly<Record<string, string>>;
  /**
   * The error for an unknown label:
   *
   * - default: `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`
   * - label: `field label not supported: x`
   * - kind-label: `field label not supported for <group/version, Kind=Kind>: x`
   * - quoted-label: `field label "x" not supported for <Kind>`
   */
  readonly fieldSelectorErrorStyle: FieldSelectorErrorStyle;
}

export interface CatalogSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly responseKind: { readonly group: string; readonly version: string; readonly kind: string };
}

export interface CatalogOptions {
  readonly release: ReleaseName;
  readonly runtimeConfig?: RuntimeConfig;
  /** Overrides of the gates in `catalogGateNames`; any other name is an error. */
  readonly featureGates?: ReadonlyMap<string, boolean>;
  /** Whether to serve by default the APIs that this project adds to every release (EXTENSION_GROUP_VERSIONS). */
  readonly extensions?: boolean;
  /** Set if --emulated-version or --min-compatibility-version is set. */
  readonly emulation?: Emulation | undefined;
}

/**
 * Served by default in every release if the option `extensions` is set, although Kubernetes keeps this API off by
 * default, because servers agree on storage versions through it.
 */
const EXTENSION_GROUP_VERSIONS: readonly string[] = ["internal.apiserver.k8s.io/v1alpha1"];

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

/** The options of `openCatalog` with their defaults: they decide which stored resources the catalog holds. */
interface View {
  readonly release: ReleaseName;
  readonly runtimeConfig: RuntimeConfig;
  readonly gates: ReadonlyMap<string, boolean>;
  readonly extensions: ReadonlySet<string>;
  readonly emulation: Emulation | undefined;
}

export function openCatalog(options: CatalogOptions): Catalog {
  const { release, runtimeConfig = EMPTY_RUNTIME_CONFIG, featureGates = new Map(), emulation } = options;
  checkRuntimeConfig(runtimeConfig, knownGroupVersions(emulation?.binary ?? release));
  const gates = resolveFeatureGates(release, featureGates);
  const extensions = new Set(options.extensions ? EXTENSION_GROUP_VERSIONS : []);
  const view: View = { release, runtimeConfig, gates, extensions, emulation };
  const groups = groupsInOrder(view).flatMap((group) => toGroup(group, view) ?? []);
  if (emulation !== undefined) {
    const served = new Set(
      groups.flatMap(({ name, versions }) => versions.map((version) => (name === "" ? version : `${name}/${version}`))),
    );
    const at = { ...view, emulation, isGateOpen: isGateOpenIn(view) };
    rejectLaterGroupVersions(storedResources().resources, at, (groupVersion) => served.has(groupVersion));
  }
  const resources = new Map(
    groups.flatMap((group) => group.resources.map((resource) => [`${group.name}/${resource.resource}`, resource])),
  );
  return {
    release: releaseInfo(release),
    emulation,
    groups,
    // Schemas are decoded on first use, so that callers which need only the resources do not wait for them.
    get schemas() {
      const schemas = openSchemas(release);
      return emulation === undefined ? schemas : schemasOfBoth(schemas, openSchemas(emulation.binary));
    },
    resource: (group, resource) => resources.get(`${group}/${resource}`),
  };
}

/**
 * Adds the kinds that the binary has and the emulated release does not have, because they may be stored and requested.
 */
function schemasOfBoth(emulated: SchemaSource, binary: SchemaSource): SchemaSource {
  return {
    kind: (group, version, kind) => emulated.kind(group, version, kind) ?? binary.kind(group, version, kind),
    struct: (name) => emulated.struct(name) ?? binary.struct(name),
    structNames: () => emulated.structNames(),
    kindsOf(name) {
      const kinds = emulated.kindsOf(name);
      return kinds.length === 0 ? binary.kindsOf(name) : kinds;
    },
  };
}

function groupsInOrder(view: View): readonly StoredGroup[] {
  const { groupOrder, groups } = storedResources();
  const byName = new Map(groups.map((group) => [group.name, group]));
  return atBoth(groupOrder, view).flatMap((name) => byName.get(name) ?? []);
}

/** The items of both releases, in the order of the binary, followed by the items that only the emulated release has. */
function atBoth(points: ChangePoints<readonly string[]>, { release, emulation }: View): readonly string[] {
  const own = valueIn(points, release) ?? [];
  return emulation === undefined ? own : [...new Set([...(valueIn(points, emulation.binary) ?? []), ...own])];
}

function toGroup(group: StoredGroup, view: View): CatalogGroup | undefined {
  const order = atBoth(group.versions, view);
  const stored = storedResources().resources.filter((resource) => resource.group === group.name);
  const resources = stored.flatMap((resource) => toResource(resource, order, view) ?? []);
  const served = new Set(resources.flatMap((resource) => resource.versions.map(({ version }) => version)));
  const versions = order.filter((version) => served.has(version));
  const preferredVersion = versions[0];
  if (preferredVersion === undefined) return undefined;
  const apiServicePriorities = new Map<string, ApiServicePriority>();
  for (const version of versions) {
    const points = group.priorities[version] ?? [];
    const priority = valueIn(points, view.release) ?? valueIn(points, view.emulation?.binary ?? view.release);
    if (priority === undefined) continue;
    apiServicePriorities.set(version, { groupPriorityMinimum: priority[0], versionPriority: priority[1] });
  }
  return { name: group.name, versions, preferredVersion, resources, apiServicePriorities };
}

function toResource(stored: ResourceHistory, order: readonly string[], view: View): CatalogResource | undefined {
  const own = order.filter((version) => isServed(stored, version, view));
  const later = versionsBeyond(stored, own, view);
  const versions =
    later.length === 0 ? own : order.filter((version) => own.includes(version) || later.includes(version));
  if (versions.length === 0) return undefined;
  const { storageVersion, decodableVersions } = storageOf(stored, view);
  return {
    group: stored.group,
    resource: stored.resource,
    singular: stored.singular,
    namespaced: stored.namespaced,
    shortNames: stored.shortNames ?? [],
    categories: stored.categories ?? [],
    storagePrefix: storageVersion === undefined ? undefined : (stored.prefix ?? stored.resource),
    storageVersion,
    decodableVersions,
    versions: versions.map((version) => toVersion(stored, version, later.includes(version) ? ofBinary(view) : view)),
  };
}

function storageOf(
  stored: ResourceHistory,
  { release, emulation }: View,
): Pick<CatalogResource, "storageVersion" | "decodableVersions"> {
  if (emulation !== undefined)
    return emulatedStorage(stored, release, emulation) ?? { storageVersion: undefined, decodableVersions: [] };
  const { storage = [], decodable = [] } = stored;
  return { storageVersion: valueIn(storage, release), decodableVersions: valueIn(decodable, release) ?? [] };
}

function versionsBeyond(stored: ResourceHistory, own: readonly string[], view: View): readonly string[] {
  const { emulation } = view;
  return emulation === undefined
    ? []
    : laterVersions(stored, own, { ...view, emulation, isGateOpen: isGateOpenIn(view) });
}

/** The same options for the release of the binary, for API versions that are newer than the emulated release. */
function ofBinary(view: View): View {
  return { ...view, release: view.emulation?.binary ?? view.release };
}

function isServed(stored: ResourceHistory, version: string, view: View): boolean {
  const storedVersion = stored.versions[version];
  const defaultState = storedVersion && valueIn(storedVersion.served, view.release);
  if (storedVersion === undefined || defaultState === undefined) return false;
  if (!isGateOpen(storedVersion.gate, view)) return false;
  if (view.emulation !== undefined && !isKnownToBinary(stored, version, view.emulation)) return false;
  const { group, resource } = stored;
  const isOnByDefault = defaultState === "on" || view.extensions.has(`${group}/${version}`);
  return runtimeConfigState(view.runtimeConfig, { group, version, resource }) ?? isOnByDefault;
}

function isGateOpen(gate: string | undefined, view: View): boolean {
  return gate === undefined || view.gates.get(gate) === true;
}

function isGateOpenIn(view: View): (gate: string | undefined) => boolean {
  return (gate) => isGateOpen(gate, view);
}

function toVersion(resource: ResourceHistory, version: string, view: View): CatalogVersion {
  const stored = resource.versions[version] as StoredVersion;
  const lifecycle = stored.lifecycle && valueIn(stored.lifecycle, view.release);
  const selectors = (stored.fieldSelectors && valueIn(stored.fieldSelectors, view.release)) ?? DEFAULT_FIELD_SELECTORS;
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
  return subresource.present === undefined || valueIn(subresource.present[version] ?? [], view.release) === true;
}

function toSubresource({ name, verbs, responseKind }: StoredSubresource, version: string): CatalogSubresource {
  if (responseKind.version !== "*") return { name, verbs, responseKind };
  return { name, verbs, responseKind: { ...responseKind, version } };
}

/**
 * All group versions of which the release has types: those that it can serve or decode, and others that are registered
 * in its scheme.
 */
function knownGroupVersions(release: ReleaseName): ReadonlySet<string> {
  const { groups, resources, registered } = storedResources();
  const known = new Set<string>();
  for (const { name, versions } of groups) {
    for (const version of valueIn(versions, release) ?? []) known.add(name === "" ? version : `${name}/${version}`);
  }
  for (const { decodable = [] } of resources) {
    for (const groupVersion of valueIn(decodable, release) ?? []) known.add(groupVersion);
  }
  for (const [groupVersion, range] of Object.entries(registered)) {
    if (isWithin(range, release)) known.add(groupVersion);
  }
  return known;
}
