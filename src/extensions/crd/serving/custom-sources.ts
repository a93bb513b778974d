/** Provides custom resources to other parts of a server: the resource table, peer routing and APIServices. */
import type { SharedSource } from "../../../cluster/peers/shared-resources.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { ResourceTable } from "../../../serving/resources/built-in-table.ts";
import type { LocalGroupVersions } from "../../aggregation/aggregated-servers.ts";
import { CUSTOM_PRIORITY } from "./custom-groups.ts";
import type { CustomResources } from "./custom-resources.ts";

export function withCustomResourcesIn(builtIn: ResourceTable, custom: CustomResources): ResourceTable {
  return {
    resolve: (group, version, resource) =>
      builtIn.resolve(group, version, resource) ?? custom.resolve(group, version, resource),
    hasGroup: (group) => builtIn.hasGroup(group) || custom.hasGroup(group),
    stored: builtIn.stored,
  };
}

export function sharedCustomResources(custom: CustomResources): SharedSource {
  return {
    served: custom.served,
    isLoaded: () => custom.table.isLoaded,
    names: () => custom.names(),
    onChange: (listener) => custom.table.onSettled(listener),
  };
}

/** The group versions that this server serves itself, built in or by CRDs, with their APIService priorities. */
export function localGroupVersions(catalog: Catalog, custom: CustomResources): LocalGroupVersions {
  return {
    list: () =>
      custom.groups().flatMap(({ name: group, versions, apiServicePriorities }) => {
        const builtIn = catalog.groups.find((candidate) => candidate.name === group);
        return versions.flatMap((version) => {
          const isCustom = builtIn?.versions.includes(version) !== true;
          const priority = isCustom ? CUSTOM_PRIORITY : apiServicePriorities.get(version);
          return priority === undefined ? [] : [{ group, version, ...priority, isCustom }];
        });
      }),
    isLoaded: () => custom.table.isLoaded,
    onChange: (listener) => void custom.table.onSettled(listener),
  };
}
