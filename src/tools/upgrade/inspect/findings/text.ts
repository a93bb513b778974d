/** Parts of sentences and commands that several findings have in common. */
import { formatGroupResource, type GroupResource } from "../../../../meta/group-version.ts";
import type { ReleaseView } from "../releases/release-views.ts";

/** For example "1 object", "5 objects". */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** "is" or "are". */
export function are(count: number): string {
  return count === 1 ? "is" : "are";
}

/** Reads and writes all objects, so that the server stores them as it stores new ones. */
export function rewriteCommand(resource: GroupResource): string {
  return `$ kubectl get ${formatGroupResource(resource)} --all-namespaces -o json | kubectl replace -f -`;
}

/** The steps that rewrite all objects of a resource in the storage version of the running servers. */
export function rewriteSteps(resource: GroupResource, running: ReleaseView | undefined): string[] {
  const migration = running?.catalog.resource("storagemigration.k8s.io", "storageversionmigrations")?.versions[0];
  const steps = [rewriteCommand(resource)];
  if (migration === undefined) return steps;
  const { group, resource: plural } = resource;
  const name = formatGroupResource(resource);
  const target = `{group: "${group}", resource: ${plural}}`;
  const body = `apiVersion: storagemigration.k8s.io/${migration.version}\\nkind: StorageVersionMigration\\nmetadata: {name: ${name}}\\nspec: {resource: ${target}}\\n`;
  if (migration.version === "v1alpha1") return steps;
  return [...steps, "Or let the cluster do it:", `$ printf '${body}' | kubectl create -f -`];
}
