/**
 * OwnerReferencesPermissionEnforcement: a user who changes the owner references of an existing object must be allowed
 * to delete the object, and a user who sets blockOwnerDeletion must be allowed to set finalizers on the owner.
 */
import type { AccessAttributes, Authorizer } from "../../auth/authorize.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { parseGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { admissionForbidden } from "./plugin-errors.ts";

interface OwnerResource extends GroupVersion {
  readonly resource: string;
  readonly isNamespaced: boolean;
}

/** The resources of a kind; empty if the kind is unknown. */
export type ResourcesOfKind = (groupVersion: GroupVersion, kind: string) => readonly OwnerResource[];

interface OwnerReferencesPorts {
  readonly authorizer: Authorizer;
  readonly resourcesOfKind: ResourcesOfKind;
}

/**
 * DIFFERS: if a write sets blockOwnerDeletion for more owners than this, the user must be allowed to set finalizers on
 * all objects of the cluster.
 */
const OWNERS_ASKED_MAX = 100;

export function ownerReferencesPermissionEnforcement(ports: OwnerReferencesPorts): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    handles: (operation, { groupVersion, resource, subresource }) =>
      (operation === "CREATE" || operation === "UPDATE") &&
      // Old kubelets send wrong owner references with the status of pods; the server ignores them.
      !(groupVersion.group === "" && resource === "pods" && subresource === "status"),
    validate(attributes) {
      const owners = ownersOf(attributes.object);
      const before = ownersOf(attributes.existing);
      if (jsonEquals(owners, before)) return;
      if (attributes.operation !== "CREATE") rejectUndeletable(ports, attributes);
      const known = new Map(before.map((owner) => [owner["uid"], owner]));
      const blocking = owners.filter((owner) => isBlocking(owner) && !isBlocking(known.get(owner["uid"]) ?? {}));
      if (blocking.length > 0) rejectBlocking(ports, attributes, blocking);
    },
  };
}

function ownersOf(object: JsonObject | undefined): JsonObject[] {
  return objectsAt(objectAt(object ?? {}, "metadata"), "ownerReferences");
}

function isBlocking(owner: JsonObject): boolean {
  return owner["blockOwnerDeletion"] === true;
}

function rejectUndeletable({ authorizer }: OwnerReferencesPorts, attributes: Attributes): void {
  const { user, namespace, groupVersion, resource, subresource, name } = attributes;
  const asked = { ...groupVersion, verb: "delete", namespace, resource, subresource, name };
  const { allowed, reason } = authorizer(user, { ...asked, isResourceRequest: true, path: "" });
  if (!allowed)
    throw admissionForbidden(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
}

function rejectBlocking(
  { authorizer, resourcesOfKind }: OwnerReferencesPorts,
  attributes: Attributes,
  owners: readonly JsonObject[],
): void {
  const { user, namespace } = attributes;
  const anything = { group: "*", version: "*", resource: "*", name: "*", namespace: "" };
  if (authorizer(user, finalizing(anything)).allowed) return;
  if (owners.length > OWNERS_ASKED_MAX) throw unfinalizable(attributes, "");
  for (const owner of owners) {
    const [apiVersion, kind] = [stringAt(owner, "apiVersion"), stringAt(owner, "kind")];
    const resources = resourcesOfKind(parseGroupVersion(apiVersion), kind);
    if (resources.length === 0) {
      const why = `no matches for kind ${goQuote(kind)} in version ${goQuote(apiVersion)}`;
      throw admissionForbidden(
        attributes,
        `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: ${why}`,
      );
    }
    for (const { group, version, resource, isNamespaced } of resources) {
      const one = { group, version, resource, name: stringAt(owner, "name"), namespace: isNamespaced ? namespace : "" };
      const { allowed, reason } = authorizer(user, finalizing(one));
      if (!allowed) throw unfinalizable(attributes, reason);
    }
  }
}

function unfinalizable(attributes: Attributes, reason: string): Error {
  const why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
  return admissionForbidden(attributes, `${why}: ${reason}, <nil>`);
}

function finalizing(
  one: Pick<AccessAttributes, "group" | "version" | "resource" | "name" | "namespace">,
): AccessAttributes {
  return { ...one, verb: "update", subresource: "finalizers", isResourceRequest: true, path: "" };
}
