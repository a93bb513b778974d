/** Parses and writes group versions and resource names in the forms that the API uses. */
export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** Parses an apiVersion: "v1" has the group "" (core), "apps/v1" the group "apps". */
export function parseGroupVersion(text: string): GroupVersion {
  const slash = text.indexOf("/");
  return slash < 0 ? { group: "", version: text } : { group: text.slice(0, slash), version: text.slice(slash + 1) };
}

/** Writes a group version as an apiVersion. */
export function formatGroupVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Writes a resource as in messages and Status details: "pods", "deployments.apps". */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}
