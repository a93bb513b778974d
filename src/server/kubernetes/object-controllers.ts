/** Creates the controllers of objects and namespaces, which act as ordinary clients during a term as leader. */
import { createQuotaCalculator } from "../../access/admission/plugins/quota/recalculate.ts";
import { createClusterRoleAggregationController } from "../../cluster/controllers/cluster-role-aggregation.ts";
import { createGarbageCollector } from "../../cluster/controllers/garbage-collector/garbage-collector.ts";
import { createNamespaceController } from "../../cluster/controllers/namespace/namespace-controller.ts";
import { createResourceQuotaController } from "../../cluster/controllers/resource-quota.ts";
import { clusterResources } from "../../cluster/controllers/merge-cluster-resources.ts";
import { createRootCaPublisher } from "../../cluster/controllers/root-ca-publisher.ts";
import { createServiceAccountController } from "../../cluster/controllers/service-account.ts";
import { createVolumeProtection } from "../../cluster/controllers/volume-protection.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { ControllerName } from "../../cluster/controllers/controller-names.ts";
import { contestedTransport } from "../../cluster/controller-runtime/contested-transport.ts";
import type { ContestedWrites } from "../../cluster/controller-runtime/contested-writes.ts";
import type { ControllerSpec } from "../../cluster/controller-runtime/controller.ts";
import type { TermFence } from "../../cluster/controller-runtime/term-fence.ts";
import type { TerminatingNamespaces } from "../../cluster/inspect/terminating-namespaces.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { Foundation } from "../foundation.ts";
import type { KubernetesResources } from "./resources.ts";

export interface ObjectControllerParts {
  readonly resources: KubernetesResources;
  readonly peers: Peers;
  /** The discovery document of this server, including custom and aggregated resources. */
  readonly shown: LocalDocument;
  readonly namespaces: Pick<TerminatingNamespaces, "seenAtMs">;
  readonly contested: ContestedWrites;
}

export type NamedSpec = ControllerSpec & { readonly name: ControllerName };

/** The fence rejects the writes of these controllers after the term in which they were sent. */
export function objectControllers(on: Foundation, parts: ObjectControllerParts, fence: TermFence): NamedSpec[] {
  const { env, config, metrics, loopback } = on;
  const { resources, peers, shown, namespaces } = parts;
  const { clock, random, log } = env;
  const { client, metadata } = loopback.clientsUnder(fence.condition, (transport) =>
    contestedTransport(transport, parts.contested),
  );
  const served = clusterResources({ config, peers, local: shown, shared: resources.shared });
  const common = { client, metadata, resources: served, clock, random, log, metrics };
  const calculation = createQuotaCalculator({
    gates: gatesOf(config.release),
    now: () => clock.now(),
  });
  const all: readonly (NamedSpec | undefined)[] = [
    createGarbageCollector(common),
    createNamespaceController({ ...common, deletionSeenAtMs: namespaces.seenAtMs }),
    createServiceAccountController({ client, log }),
    createRootCaPublisher({ client, log, rootCa: config.rootCa }),
    createClusterRoleAggregationController({ client, log }),
    createResourceQuotaController({ ...common, calculation }),
    ...createVolumeProtection({
      client,
      metadata,
      log,
      hasAttributesClasses: protectsAttributesClasses(resources.catalog),
    }),
  ];
  return all.filter((spec) => spec !== undefined);
}

/** True for releases that serve storage.k8s.io/v1 VolumeAttributesClass; these releases protect it with a finalizer. */
function protectsAttributesClasses(catalog: Catalog): boolean {
  const versions = catalog.resource("storage.k8s.io", "volumeattributesclasses")?.versions ?? [];
  return versions.some(({ version }) => version === "v1");
}
