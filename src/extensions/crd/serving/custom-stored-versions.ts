/** The stored versions of a custom resource, as a server publishes them in a StorageVersion. */
import type { StoredResourceVersions } from "../../../cluster/storageversion/encodings.ts";
import { storageVersionName } from "../../../cluster/storageversion/objects.ts";
import { formatGroupVersion } from "../../../meta/group-version.ts";
import { compareApiVersions } from "../../../serving/discovery/order.ts";
import type { Crd, CrdVersion } from "../crd.ts";

/** Undefined if the server does not store the resource. */
export function storedVersionsOf(crd: Crd): StoredResourceVersions | undefined {
  const { group, acceptedNames, versions, storageVersion, isEstablished, name, uid } = crd;
  if (!isEstablished) return undefined;
  const { plural: resource } = acceptedNames;
  const groupVersions = (those: readonly CrdVersion[]): string[] =>
    those.map((version) => formatGroupVersion({ group, version: version.name }));
  return {
    group,
    resource,
    name: storageVersionName(group, resource),
    aliases: [{ group, resource }],
    preferred: formatGroupVersion({ group, version: storageVersion }),
    decodable: groupVersions(versions),
    fallbacks: groupVersions(versions.toSorted((left, right) => compareApiVersions(left.name, right.name))),
    served: groupVersions(versions.filter(({ isServed }) => isServed)),
    isNeededToPublish: false,
    definition: { name, uid },
  };
}
