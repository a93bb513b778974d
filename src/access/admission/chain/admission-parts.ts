/**
 * The parts of a server that its admission chain is created from, and the port through which plugins watch the objects
 * that configure them.
 */
import type { BaseEnv } from "../../../base/env.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { ObjectReader, ObjectTable } from "../../../meta/object-table.ts";
import type { CatalogGroup } from "../../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import type { ResolveEndpoint } from "../../../serving/endpoints/resolve-or-not-found.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import type { StoredObjectParts } from "../../../serving/resources/stored-objects.ts";
import type { ConfiguredAuthorization } from "../../auth/authorization-modes.ts";
import type { DefaultTolerationOptions } from "../plugins/default-toleration-seconds.ts";
import type { PodSecurityConfiguration } from "../plugins/pod-security/configuration.ts";
import type { CallWebhook } from "../../webhook-client/webhook-client.ts";

export interface AdmissionParts {
  readonly env: BaseEnv;
  readonly config: {
    readonly release: ReleaseName;
    readonly access: {
      readonly admissionPlugins: readonly string[];
      readonly tolerations: DefaultTolerationOptions;
      readonly podSecurity: PodSecurityConfiguration;
    };
  };
  readonly metrics: MetricsRegistry;
  readonly context: RegistryContext;
  readonly authorization: ConfiguredAuthorization;
  readonly objects: ObjectReader;
  /** Dependencies of the watches on built-in resources. */
  readonly followed: StoredObjectParts;
  /** All served resources, including custom resources. */
  readonly served: { readonly resolve: ResolveEndpoint; readonly groups: () => readonly CatalogGroup[] };
  readonly callWebhook: CallWebhook;
}

/** Starts a watch that keeps a table of admissionregistration.k8s.io objects up to date. */
export type Follow = (resource: string, table: ObjectTable) => void;
