/** Reports the versions in which the objects of each resource are stored. */
import { storageOfRelease, type StoragePlace } from "../../objects/catalog/storage-places.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { ByVersion, compareText, surveyStore, type Survey } from "./survey.ts";
import type { WalkOptions } from "./walk-store.ts";

interface StoredVersionsReport extends Survey {
  readonly kind: "StoredVersions";
  readonly apiVersion: "evenkeel.io/v1";
  /** The release as which the local server behaves. */
  readonly release: ReleaseName;
  /** The release of the binary of the local server, if the server emulates another. */
  readonly binary?: ReleaseName;
  /** Sorted by resource and group. */
  readonly resources: readonly ResourceVersions[];
}

interface ResourceVersions {
  readonly group: string;
  readonly resource: string;
  /** The version in which the local server writes the resource; absent if the server does not have the resource. */
  readonly writes?: string;
  /** Sorted by apiVersion. */
  readonly versions: readonly { readonly apiVersion: string; readonly objects: number }[];
  /** Number of stored values that cannot be read as an object. */
  readonly unreadable: number;
}

interface Tally {
  readonly place: StoragePlace;
  readonly apiVersion: string;
  objects: number;
}

export async function storedVersions(
  options: WalkOptions & { readonly catalog: Pick<Catalog, "release" | "emulation"> },
): Promise<StoredVersionsReport> {
  const {
    emulation,
    release: { name: release },
  } = options.catalog;
  const tallies = new ByVersion<Tally>((place, apiVersion) => ({ place, apiVersion, objects: 0 }));
  const unreadable = new Map<StoragePlace, number>();
  const survey = await surveyStore(options, ({ place, apiVersion }) => {
    if (apiVersion === undefined) unreadable.set(place, (unreadable.get(place) ?? 0) + 1);
    else tallies.of(place, apiVersion).objects++;
  });
  const byPlace = Map.groupBy(tallies.all(), ({ place }) => place);
  const resources = [...new Set([...byPlace.keys(), ...unreadable.keys()])].map((place): ResourceVersions => {
    const { group, resource } = place;
    const writes = storageOfRelease(place, release, emulation)?.storageVersion;
    const versions = (byPlace.get(place) ?? []).map(({ apiVersion, objects }) => ({ apiVersion, objects }));
    versions.sort((a, b) => compareText(a.apiVersion, b.apiVersion));
    return {
      group,
      resource,
      ...(writes === undefined ? {} : { writes }),
      versions,
      unreadable: unreadable.get(place) ?? 0,
    };
  });
  resources.sort((a, b) => compareText(formatGroupResource(a), formatGroupResource(b)));
  const binary = emulation === undefined || emulation.binary === release ? {} : { binary: emulation.binary };
  return { kind: "StoredVersions", apiVersion: "evenkeel.io/v1", release, ...binary, ...survey, resources };
}
