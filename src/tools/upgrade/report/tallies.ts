/** Names and lists that the text and the page of an inspection have in common. */
import { OTHERS, type EncryptionKeyTally, type ResourceTally } from "../inspect/inspection.ts";
import { countText } from "./quantities.ts";

/** For example "deployments.apps", as kubectl names resources. */
export function resourceTitle({ group, resource }: Pick<ResourceTally, "group" | "resource">): string {
  return group === "" || resource === OTHERS ? resource : `${resource}.${group}`;
}

/** For example "v1", or "v1alpha1 5, v1beta1 3" if the objects are stored in several versions. */
export function versionsText({ group, versions }: Pick<ResourceTally, "group" | "versions">): string {
  const short = (apiVersion: string): string =>
    group !== "" && apiVersion.startsWith(`${group}/`) ? apiVersion.slice(group.length + 1) : apiVersion;
  const [first] = versions;
  if (first !== undefined && versions.length === 1) return short(first.apiVersion);
  return versions.map(({ apiVersion, objects }) => `${short(apiVersion)} ${countText(objects)}`).join(", ");
}

/** For example "aescbc:v1:key1", as the prefix of the stored values. */
export function encryptionKeyTitle({ provider, version, key }: EncryptionKeyTally): string {
  return [provider, version, key].filter((part) => part !== "").join(":");
}
