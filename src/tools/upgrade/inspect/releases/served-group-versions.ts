/**
 * The built-in group versions that the API servers serve, from the APIServices that they register for themselves. They
 * show which --runtime-config the servers have, and narrow down their release.
 */
import { openCatalog, type Catalog } from "../../../../objects/catalog/catalog.ts";
import { RELEASES, type ReleaseName } from "../../../../objects/catalog/release.ts";
import { isJsonObject, objectAt, specOf, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { widestCatalog } from "./release-views.ts";

/** The group of APIServices has no APIService. */
const OWN_GROUP_VERSION = "apiregistration.k8s.io/v1";
const MANAGED_LABEL = "kube-aggregator.kubernetes.io/automanaged";

/** Undefined if the data has no APIServices of the servers themselves. */
export function servedGroupVersions(apiServices: readonly JsonObject[]): ReadonlySet<string> | undefined {
  const builtIn = new Set(RELEASES.flatMap((release) => [...groupVersions(widestCatalog(release))]));
  const served = apiServices.flatMap((object) => {
    const labels = objectAt(objectAt(object, "metadata"), "labels");
    if (labels[MANAGED_LABEL] === undefined || isJsonObject(specOf(object)["service"])) return [];
    const [group, version] = [stringAt(specOf(object), "group"), stringAt(specOf(object), "version")];
    const name = group === "" ? version : `${group}/${version}`;
    return builtIn.has(name) ? [name] : [];
  });
  return served.length === 0 ? undefined : new Set([...served, OWN_GROUP_VERSION]);
}

/** The groups of APIServices that other servers serve; their objects are not in this store. */
export function externalGroups(apiServices: readonly JsonObject[]): ReadonlySet<string> {
  const aggregated = apiServices.filter((object) => isJsonObject(specOf(object)["service"]));
  return new Set(aggregated.map((object) => stringAt(specOf(object), "group")));
}

/** The releases that can serve all of these, and that would serve no other by default. */
export function releasesServing(served: ReadonlySet<string>): readonly ReleaseName[] {
  return RELEASES.filter((release) => {
    const possible = groupVersions(widestCatalog(release));
    if (![...served].every((name) => possible.has(name) || name === OWN_GROUP_VERSION)) return false;
    return [...groupVersions(openCatalog({ release }))].every((name) => served.has(name));
  });
}

/** The --runtime-config with which a server of the release serves these group versions. */
export function runtimeConfigFor(served: ReadonlySet<string>, release: ReleaseName): readonly string[] {
  const byDefault = groupVersions(openCatalog({ release }));
  const possible = groupVersions(widestCatalog(release));
  const enabled = [...served].filter((name) => !byDefault.has(name) && possible.has(name));
  const disabled = [...byDefault].filter((name) => !served.has(name));
  return [...enabled.map((name) => `${name}=true`), ...disabled.map((name) => `${name}=false`)];
}

function groupVersions({ groups }: Catalog): ReadonlySet<string> {
  const names = groups
    .filter(({ name }) => !OWN_GROUP_VERSION.startsWith(`${name}/`))
    .flatMap(({ name, versions }) => versions.map((version) => (name === "" ? version : `${name}/${version}`)));
  return new Set(names);
}
