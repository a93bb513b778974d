/**
 * Creates the service account "default" in every active namespace. It is the identity of pods that name no service
 * account.
 */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";
import { isReason } from "../../meta/status-error.ts";
import { isActive, isRejectedByNamespace, namespaceOf } from "./namespace/active.ts";
import { NAMESPACE_TYPE, nameOf, type NamespaceObject } from "./namespace/objects.ts";
import { informerSource, type KeySource } from "../controller-runtime/controller.ts";

interface ServiceAccountController {
  readonly name: "serviceaccount-controller";
  readonly reconcile: (namespace: string, signal: AbortSignal) => Promise<undefined>;
  sources(): readonly KeySource[];
}

const SERVICE_ACCOUNT_TYPE: ResourceType = { group: "", version: "v1", resource: "serviceaccounts", namespaced: true };
const DEFAULT = "default";

export function createServiceAccountController(options: {
  readonly client: Client;
  readonly log: Log;
}): ServiceAccountController {
  const { client, log } = options;
  const accounts = client.resource(SERVICE_ACCOUNT_TYPE);
  const onError = (thrown: unknown): void => log.warn("service account watch failed", { error: messageOf(thrown) });
  let seen: { readonly namespaces: Informer<NamespaceObject>; readonly accounts: Informer } | undefined;
  return {
    name: "serviceaccount-controller",
    sources() {
      const namespaces = client.informer<NamespaceObject>(NAMESPACE_TYPE, { onError });
      const followed = client.informer(SERVICE_ACCOUNT_TYPE, { fieldSelector: `metadata.name=${DEFAULT}`, onError });
      seen = { namespaces, accounts: followed };
      return [informerSource(namespaces, (namespace) => [nameOf(namespace)]), informerSource(followed, namespaceOf)];
    },
    async reconcile(namespace, signal) {
      if (!isActive(seen?.namespaces.get({ name: namespace }))) return;
      // An account that is being deleted is created again when it is gone.
      if (seen?.accounts.get({ namespace, name: DEFAULT }) !== undefined) return;
      const account: KubernetesObject = {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: DEFAULT, namespace },
      };
      try {
        await accounts.create(account, { signal });
      } catch (thrown) {
        if (!isReason(thrown, "AlreadyExists") && !isRejectedByNamespace(thrown)) throw thrown;
      }
    },
  };
}
