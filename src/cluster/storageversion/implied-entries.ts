/**
 * Adds the entries of kube-apiservers that publish none, as kube-apiserver does by default. Their releases show in
 * which version they store each resource and which versions they can read. Without these entries, the other servers
 * would write versions that a kube-apiserver of an older release cannot read.
 *
 * An entry that a server has published itself has served versions, an implied one has none.
 */
import { parseGroupVersion, type GroupResource, type GroupVersion } from "../../meta/group-version.ts";
import type { Emulation } from "../../objects/catalog/emulation.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { storageOfRelease, storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import type { StoredVersions } from "./agreement.ts";
import type { AgreementMember } from "./members.ts";
import { storageVersionResource, type ServerStorageVersion } from "./objects.ts";

/** The properties of a server from which its unpublished entries follow. */
export interface ImpliedStorage {
  /** The release, which shows how the server stores resources. */
  readonly release: ReleaseName;
  readonly emulation?: Emulation | undefined;
  /** Whether the server serves the resource. It does not read stored objects of other resources. */
  readonly serves: (question: GroupVersion & GroupResource) => boolean;
}

/** The resource of a StorageVersion object. */
export interface ImpliedFor {
  /** The name of the object. */
  readonly name: string;
  /**
   * The versions of a custom resource, which every server reads from its CRD. Undefined for a built-in resource, and
   * for a custom resource that this server does not store: then the implied entries stay as they are.
   */
  readonly custom: StoredVersions | undefined;
}

/** The entries, with those that follow from the releases of live servers. Returns the same array if nothing changes. */
export function withImpliedEntries(
  entries: readonly ServerStorageVersion[],
  resource: ImpliedFor,
  live: ReadonlyMap<string, AgreementMember>,
): readonly ServerStorageVersion[] {
  return [...live.values()].reduce((all, member) => withMember(all, resource, member), entries);
}

function withMember(
  entries: readonly ServerStorageVersion[],
  resource: ImpliedFor,
  { id, implied }: AgreementMember,
): readonly ServerStorageVersion[] {
  if (implied === undefined) return entries;
  const known = entries.find(({ apiServerID }) => apiServerID === id);
  if (known !== undefined && isPublishedByServer(known)) return entries;
  const entry = impliedEntry(id, resource, implied) ?? (isBuiltIn(resource) ? undefined : known);
  if (entry === known) return entries;
  const others = entries.filter((other) => other !== known);
  return entry === undefined ? others : [...others, entry];
}

export function isPublishedByServer({ servedVersions = [] }: ServerStorageVersion): boolean {
  return servedVersions.length > 0;
}

function isBuiltIn({ name }: ImpliedFor): boolean {
  const { group, resource } = storageVersionResource(name);
  return storagePlaceOf(group, resource) !== undefined;
}

/** Undefined if the server does not store the resource, or this server does not know how. */
function impliedEntry(
  apiServerID: string,
  { name, custom }: ImpliedFor,
  { release, emulation, serves }: ImpliedStorage,
): ServerStorageVersion | undefined {
  const { group, resource } = storageVersionResource(name);
  const place = storagePlaceOf(group, resource);
  if (place === undefined)
    return custom && { apiServerID, encodingVersion: custom.preferred, decodableVersions: custom.decodable };
  const storage = storageOfRelease(place, release, emulation);
  if (storage === undefined) return undefined;
  const { storageVersion: encodingVersion } = storage;
  const decodableVersions = [...new Set([...storage.decodableVersions, encodingVersion])];
  const isServed = decodableVersions.some((version) => serves({ ...parseGroupVersion(version), resource }));
  return isServed ? { apiServerID, encodingVersion, decodableVersions } : undefined;
}
