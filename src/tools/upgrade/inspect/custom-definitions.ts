/** Compares the versions of CRDs with the versions in which their instances are stored. */
import { isJsonObject, objectAt, specOf, statusOf, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { parseGroupVersion } from "../../../meta/group-version.ts";
import { bounded, type ResourceStat } from "./collect/resource-stats.ts";
import type { CustomResourceDefinitionState, CustomVersionState } from "./inspection.ts";
import type { ByteStrings } from "./scan/byte-strings.ts";

const VERSIONS_MAX = 100;

export interface CustomDefinition extends CustomResourceDefinitionState {
  readonly kind: string;
  /** Undefined if no instance is stored. */
  readonly stat: ResourceStat | undefined;
}

export function customDefinitions(
  crds: readonly JsonObject[],
  stats: readonly ResourceStat[],
  types: ByteStrings,
): CustomDefinition[] {
  const byName = new Map(stats.filter(({ place }) => place === undefined).map((stat) => [definitionName(stat), stat]));
  return crds.map((crd) => definitionOf(crd, byName, types)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function definitionName({ group, resource }: Pick<ResourceStat, "group" | "resource">): string {
  return `${resource}.${group}`;
}

function definitionOf(crd: JsonObject, stats: ReadonlyMap<string, ResourceStat>, types: ByteStrings): CustomDefinition {
  const spec = specOf(crd);
  const names = objectAt(spec, "names");
  const group = bounded(stringAt(spec, "group"));
  const resource = bounded(stringAt(names, "plural"));
  const stat = stats.get(`${resource}.${group}`);
  const objects = new Map<string, number>();
  for (const { apiVersion, objects: count } of stat?.versions.values() ?? [])
    objects.set(parseGroupVersion(types.textOf(apiVersion)).version, count);
  const versions = versionsOf(spec, objects);
  const storedVersions = stringsAt(statusOf(crd), "storedVersions").slice(0, VERSIONS_MAX).map(bounded);
  const storage = versions.find(({ isStorage }) => isStorage)?.version;
  // Values that could not be read may have any version.
  const isCertain = stat === undefined || stat.sealed + stat.unreadable === 0;
  const droppable = isCertain
    ? storedVersions.filter((version) => version !== storage && (objects.get(version) ?? 0) === 0)
    : [];
  const webhook = webhookOf(objectAt(spec, "conversion"));
  return {
    name: `${resource}.${group}`,
    group,
    resource,
    kind: stringAt(names, "kind"),
    scope: stringAt(spec, "scope") === "Cluster" ? "Cluster" : "Namespaced",
    versions,
    storedVersions,
    droppable,
    conversion: webhook === undefined ? "None" : "Webhook",
    ...(webhook === undefined || webhook === "" ? {} : { webhook }),
    stat,
  };
}

function versionsOf(spec: JsonObject, objects: ReadonlyMap<string, number>): CustomVersionState[] {
  const listed = Array.isArray(spec["versions"]) ? spec["versions"].filter(isJsonObject) : [];
  // Version v1beta1 of CRDs, in which they are stored, may have a single version outside of the list.
  const declared = listed.length > 0 ? listed : [{ name: spec["version"], served: true, storage: true }];
  const versions = declared.slice(0, VERSIONS_MAX).map((version: JsonObject): CustomVersionState => {
    const name = bounded(stringAt(version, "name"));
    return {
      version: name,
      isDeclared: true,
      isServed: version["served"] === true,
      isStorage: version["storage"] === true,
      isDeprecated: version["deprecated"] === true,
      objects: objects.get(name) ?? 0,
    };
  });
  const known = new Set(versions.map(({ version }) => version));
  const removed = [...objects].filter(([version]) => !known.has(version));
  return [
    ...versions,
    ...removed.map(([version, count]) => ({
      version,
      isDeclared: false,
      isServed: false,
      isStorage: false,
      isDeprecated: false,
      objects: count,
    })),
  ];
}

/** The Service of a conversion webhook, or the host of its URL; undefined without a webhook. */
function webhookOf(conversion: JsonObject): string | undefined {
  if (conversion["strategy"] !== "Webhook") return undefined;
  const inV1 = objectAt(objectAt(conversion, "webhook"), "clientConfig");
  const config = Object.keys(inV1).length > 0 ? inV1 : objectAt(conversion, "webhookClientConfig");
  const service = objectAt(config, "service");
  if (Object.keys(service).length > 0) return bounded(`${stringAt(service, "namespace")}/${stringAt(service, "name")}`);
  const url = stringAt(config, "url");
  return URL.canParse(url) ? bounded(new URL(url).host) : "";
}
