/**
 * Publishes a CA bundle to every namespace as the config map kube-root-ca.crt. Workloads verify the API servers by it.
 */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";
import { jsonEquals } from "../../meta/json.ts";
import { isReason } from "../../meta/status-error.ts";
import { isActive, isRejectedByNamespace, namespaceOf } from "./namespace/active.ts";
import { NAMESPACE_TYPE, nameOf, type NamespaceObject } from "./namespace/objects.ts";
import { informerSource, type ReconcileResult, type KeySource } from "../controller-runtime/controller.ts";

interface RootCaPublisherOptions {
  readonly client: Client;
  readonly log: Log;
  /** PEM; undefined if there is nothing to publish. */
  readonly rootCa: string | undefined;
}

interface RootCaPublisher {
  readonly name: "root-ca-certificate-publisher-controller";
  readonly reconcile: (namespace: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  sources(): readonly KeySource[];
}

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

const CONFIG_MAP_TYPE: ResourceType = { group: "", version: "v1", resource: "configmaps", namespaced: true };
const CONFIG_MAP = "kube-root-ca.crt";
const DESCRIPTION_ANNOTATION = "kubernetes.io/description";
const DESCRIPTION =
  "The CA certificates by which workloads of this cluster can verify its API servers at kubernetes.default.svc and at the address of that service. They are not meant for anything else.";
/** Delay after a conflict: the watch event of the other client's write will arrive by then. */
const CONFLICT_RETRY_MS = 100;

/** Undefined if there is nothing to publish. */
export function createRootCaPublisher(options: RootCaPublisherOptions): RootCaPublisher | undefined {
  const { client, log, rootCa } = options;
  if (rootCa === undefined) return undefined;
  const configMaps = client.resource<ConfigMap>(CONFIG_MAP_TYPE);
  const onError = (thrown: unknown): void => log.warn("CA bundle watch failed", { error: messageOf(thrown) });
  let seen: { readonly namespaces: Informer<NamespaceObject>; readonly configMaps: Informer<ConfigMap> } | undefined;
  return {
    name: "root-ca-certificate-publisher-controller",
    sources() {
      const namespaces = client.informer<NamespaceObject>(NAMESPACE_TYPE, { onError });
      const selected = { fieldSelector: `metadata.name=${CONFIG_MAP}`, onError };
      const followed = client.informer<ConfigMap>(CONFIG_MAP_TYPE, selected);
      seen = { namespaces, configMaps: followed };
      return [informerSource(namespaces, (namespace) => [nameOf(namespace)]), informerSource(followed, namespaceOf)];
    },
    async reconcile(namespace, signal) {
      if (!isActive(seen?.namespaces.get({ name: namespace }))) return undefined;
      const existing = seen?.configMaps.get({ namespace, name: CONFIG_MAP });
      const wanted = published(existing, { namespace, rootCa });
      if (wanted === undefined) return undefined;
      try {
        await (existing === undefined ? configMaps.create(wanted, { signal }) : configMaps.replace(wanted, { signal }));
      } catch (thrown) {
        if (isReason(thrown, "Conflict") || isReason(thrown, "AlreadyExists"))
          return { requeueAfterMs: CONFLICT_RETRY_MS };
        if (!isRejectedByNamespace(thrown)) throw thrown;
      }
      return undefined;
    },
  };
}

/** Returns the config map to write; undefined if the existing one is correct. Labels and other annotations are kept. */
function published(
  existing: ConfigMap | undefined,
  { namespace, rootCa }: { readonly namespace: string; readonly rootCa: string },
): ConfigMap | undefined {
  const data = { "ca.crt": rootCa };
  const head = { apiVersion: "v1", kind: "ConfigMap" };
  if (existing === undefined) {
    const annotations = { [DESCRIPTION_ANNOTATION]: DESCRIPTION };
    return { ...head, metadata: { name: CONFIG_MAP, namespace, annotations }, data };
  }
  // A config map that is being deleted is created again when it is gone.
  if (existing.metadata?.deletionTimestamp !== undefined) return undefined;
  const described = existing.metadata?.annotations?.[DESCRIPTION_ANNOTATION] ?? "";
  if (described !== "" && jsonEquals(existing.data ?? {}, data)) return undefined;
  const annotations = { ...existing.metadata?.annotations, [DESCRIPTION_ANNOTATION]: DESCRIPTION };
  return { ...existing, ...head, metadata: { ...existing.metadata, annotations }, data };
}
