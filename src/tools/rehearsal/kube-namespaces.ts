/**
 * The namespace controller of kube-controller-manager: deletes the content of terminating namespaces and finalizes them.
 * As kubernetes, content is what the server of the controller serves, and a 404 means that there is none.
 */
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { pathOf, type KubeResource, type KubeSend } from "./kube-requests.ts";

export async function deleteNamespaces(send: KubeSend, resources: readonly KubeResource[]): Promise<void> {
  const { status, object: list } = await send("GET", "/api/v1/namespaces");
  if (status !== 200) return;
  for (const namespace of objectsAt(list, "items")) {
    const metadata = objectAt(namespace, "metadata");
    if (metadata["deletionTimestamp"] === undefined) continue;
    const name = stringAt(metadata, "name");
    if (await isEmptied(send, resources, name)) await finalize(send, name, namespace);
  }
}

async function isEmptied(send: KubeSend, resources: readonly KubeResource[], namespace: string): Promise<boolean> {
  let isEmpty = true;
  for (const resource of resources) {
    if (!resource.namespaced || !resource.verbs.has("list") || !resource.verbs.has("deletecollection")) continue;
    const path = pathOf(resource, { namespace });
    const before = await send("GET", path);
    // As kubernetes: 404 and 405 count as no content.
    if (before.status === 404 || before.status === 405) continue;
    if (before.status === 200 && objectsAt(before.object, "items").length === 0) continue;
    await send("DELETE", path);
    isEmpty = false;
  }
  return isEmpty;
}

async function finalize(send: KubeSend, name: string, namespace: JsonObject): Promise<void> {
  const body = { apiVersion: "v1", kind: "Namespace", ...namespace, spec: { finalizers: [] } };
  await send("PUT", `/api/v1/namespaces/${name}/finalize`, { body });
}
