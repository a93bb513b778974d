/** A short notation for the rules of default roles: verbs, groups and resources are words separated by spaces. */
import type { JsonObject } from "../../../meta/json.ts";

/** Rules by the name of the role. In the notation, "core" means the API group "". */
export type RoleRules = Readonly<Record<string, readonly JsonObject[]>>;

const words = (text: string): string[] => text.split(" ");

export function may(verbs: string, groups: string, resources: string, names?: string): JsonObject {
  return {
    verbs: words(verbs),
    apiGroups: words(groups).map((group) => (group === "core" ? "" : group)),
    resources: words(resources),
    ...(names === undefined ? {} : { resourceNames: words(names) }),
  };
}

type Shorthand = (groups: string, resources: string, names?: string) => JsonObject;

const shorthand =
  (verbs: string): Shorthand =>
  (groups, resources, names) =>
    may(verbs, groups, resources, names);

export const read = shorthand("get list watch");
export const follow = shorthand("list watch");
export const mayCreate = shorthand("create");
export const change = shorthand("patch update");
export const write = shorthand("create delete deletecollection patch update");
export const readAndWrite = shorthand("create delete deletecollection get list patch update watch");

export const WRITE_EVENTS = may("create patch update", "core events.k8s.io", "events");

export function mayCall(verbs: string, paths: string): JsonObject {
  return { verbs: words(verbs), nonResourceURLs: words(paths) };
}
