/**
 * The resources that CRDs serve or will serve soon. The discovery documents of peers are not used for these resources
 * (see cluster/peers/exclusions.ts).
 */
import type { ServedSet } from "../../../cluster/peers/served-set.ts";
import type { ResourceQuestion } from "../../../cluster/peers/view.ts";
import { ALL_VERBS as CATALOG_VERBS } from "../../../objects/catalog/catalog.ts";
import type { CrdTable } from "../crd-table.ts";
import type { Crd, CrdVersion } from "../crd.ts";

const ALL_VERBS: ReadonlySet<string> = new Set(CATALOG_VERBS);
const SUBRESOURCE_VERBS: ReadonlySet<string> = new Set(["get", "patch", "update"]);

export function servedSet(table: CrdTable, hasGroup: (group: string) => boolean): ServedSet {
  const find = ({ group, version, resource }: ResourceQuestion): CrdVersion | undefined => {
    const crd = table.find(group, resource)?.definition;
    if (crd === undefined || !(crd.isEstablished || isUndecided(crd, version))) return undefined;
    return crd.versions.find(({ name, isServed }) => name === version && isServed);
  };
  const has = (question: ResourceQuestion): boolean => {
    const version = find(question);
    if (version === undefined) return false;
    const { subresource } = question;
    if (subresource === "status") return version.hasStatus;
    return subresource === "scale" ? version.scale !== undefined : subresource === "";
  };
  return {
    has,
    hasVerb: (question, verb) =>
      has(question) && (question.subresource === "" ? ALL_VERBS : SUBRESOURCE_VERBS).has(verb),
    hasGroupVersion: (group, version) =>
      hasGroup(group) &&
      table
        .definitions()
        .some((one) => one.group === group && one.versions.some(({ name, isServed }) => name === version && isServed)),
    hasGroup,
  };
}

/**
 * True if the version will be served unless the controller rejects the names of the CRD, which it has not decided yet.
 */
export function isUndecided(definition: Crd | undefined, version: string): boolean {
  if (definition === undefined || definition.isEstablished || definition.isBeingDeleted) return false;
  if (definition.areNamesAccepted === false) return false;
  return definition.versions.some(({ name, isServed }) => name === version && isServed);
}
