/** The stage `resources` of a server of a Kubernetes release: its built-in and custom resources. */
import { createServices, type Services } from "../../access/webhook-client/create-services.ts";
import { SharedResources } from "../../cluster/peers/shared-resources.ts";
import { agreedEncodings, type AgreedEncodings } from "../../cluster/storageversion/create-storage-versions.ts";
import { webhookConversion } from "../../extensions/crd/conversion/webhook-conversion.ts";
import { DEFINITION_KINDS } from "../../extensions/crd/validation/crd-kind.ts";
import { createCustomResources, type CustomResources } from "../../extensions/crd/serving/custom-resources.ts";
import { sharedCustomResources, withCustomResourcesIn } from "../../extensions/crd/serving/custom-sources.ts";
import { createKinds } from "../../objects/kinds/kinds.ts";
import { builtInDocument, type LocalDocument } from "../../serving/discovery/local-document.ts";
import { createResourceTable, type ResourceTable } from "../../serving/resources/built-in-table.ts";
import type { Resources } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";

export interface KubernetesResources extends Resources {
  readonly builtIn: ResourceTable;
  /** The discovery document of the built-in resources only, which is what peers receive. */
  readonly document: LocalDocument;
  readonly custom: CustomResources;
  readonly services: Services;
  /**
   * The resources that every server serves from the shared store: at first the custom resources; the resources of
   * aggregated API servers are added later.
   */
  readonly shared: SharedResources;
  /**
   * Undefined if this server takes no part in the agreement on encodings. It then writes every resource in the encoding
   * of its release.
   */
  readonly agreed: AgreedEncodings | undefined;
}

export function createResources(on: Foundation, { cache }: ServerStore): KubernetesResources {
  const { env, config, loopback, transports } = on;
  const { catalog, storageRoot, eventTtlSeconds } = config;
  const { clock, random } = env;
  const agreed = config.usesStorageVersions
    ? agreedEncodings({ clock, serverId: config.peers.serverId, storageRoot, catalog })
    : undefined;
  const builtIn = createResourceTable({
    catalog,
    storageRoot,
    eventTtlSeconds,
    kindOf: createKinds(DEFINITION_KINDS),
    encodingOf: agreed?.encodingOf,
  });
  const { outbound } = transports;
  const services = createServices({ env, client: loopback.client, outbound, overrides: config.serviceOverrides });
  const custom = createCustomResources({
    storageRoot,
    clock,
    cache,
    catalog,
    builtIn,
    encodingOf: agreed && ((name) => agreed.encodings.of(name)),
    convert: webhookConversion({ callWebhook: services.callWebhook, clock, random }),
  });
  const shared = new SharedResources();
  shared.add(sharedCustomResources(custom));
  return {
    catalog,
    table: withCustomResourcesIn(builtIn, custom),
    builtIn,
    document: builtInDocument(catalog),
    custom,
    services,
    shared,
    agreed,
  };
}
