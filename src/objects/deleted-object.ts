/** The resources of which a DELETE request returns the deleted object instead of a Status. */
const RETURNS_DELETED_OBJECT: ReadonlySet<string> = new Set([
  "/persistentvolumeclaims",
  "/persistentvolumes",
  "/pods",
  "/podtemplates",
  "/resourcequotas",
  "/serviceaccounts",
  "/services",
  "storage.k8s.io/csidrivers",
  "storage.k8s.io/csinodes",
  "storage.k8s.io/storageclasses",
  "storage.k8s.io/volumeattachments",
  "storage.k8s.io/volumeattributesclasses",
]);

export function returnsDeletedObject(group: string, resource: string): boolean {
  return group === "resource.k8s.io" || RETURNS_DELETED_OBJECT.has(`${group}/${resource}`);
}
