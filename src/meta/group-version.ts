export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** "v1" → core; "apps/v1" → apps. */
export function parseGroupVersion(text: string): GroupVersion {
  const slash = text.indexOf("/");
  return slash < 0 ? { group: "", version: text } : { group: text.slice(0, slash), version: text.slice(slash + 1) };
}

/** The form of an object's apiVersion. */
export function formatGroupVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** "pods", "deployments.apps": the form of messages and Status details. */
export function formatGroupResource({ group, resource }: GroupResource): string {
  return group === "" ? resource : `${resource}.${group}`;
}
