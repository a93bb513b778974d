/** The parts of the server that admission needs, and the watches on the objects that configure the plugins. */
import type { BaseEnv } from "../../../base/env.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { ObjectReader, ObjectTable } from "../../../meta/object-table.ts";
import type { CatalogGroup } from "../../../objects/catalog/catalog.ts";
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import type { ResolveEndpoint } from "../../../serving/endpoints/resolve-or-not-found.ts";
import type { RegistryContext } from "../../../serving/registry/context.ts";
import type { StoredObjectParts } from "../../../serving/resources/stored-objects.ts";
import type { ConfiguredAuthorization } from "../../auth/authorization-modes.ts";
import type { CallWebhook } from "../../webhook-client/webhook-client.ts";

export interface AdmissionParts {
  readonly env: BaseEnv;
  readonly config: { readonly release: ReleaseName; readonly access: { readonly admissionPlugins: readonly string[] } };
  readonly metrics: MetricsRegistry;
  readonly context: RegistryContext;
  readonly authorization: ConfiguredAuthorization;
  readonly objects: ObjectReader;
  /** The parts that are needed to watch built-in resources in the store. */
  readonly followed: StoredObjectParts;
  /** All served resources, including custom resources. */
  readonly served: { readonly resolve: ResolveEndpoint; readonly groups: () => readonly CatalogGroup[] };
  readonly callWebhook: CallWebhook;
}

/** Keeps a table of admissionregistration.k8s.io objects up to date by a watch. */
export type Follow = (resource: string, table: ObjectTable) => void;
