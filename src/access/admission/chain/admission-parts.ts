/** What the server gives to admission, and how the plugins follow the objects that configure them. */
import type { BaseEnv } from "../../../base/env.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { ObjectReader, ObjectTable } from "../../../meta/object-table.ts";
import type { CatalogueGroup } from "../../../objects/catalogue/catalogue.ts";
import type { ReleaseName } from "../../../objects/catalogue/release.ts";
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
  /** How what is built in is followed in the store. */
  readonly followed: StoredObjectParts;
  /** Everything served, custom resources included. */
  readonly served: { readonly resolve: ResolveEndpoint; readonly groups: () => readonly CatalogueGroup[] };
  readonly callWebhook: CallWebhook;
}

/** Keeps a table of admissionregistration.k8s.io objects up to date. */
export type Follow = (resource: string, table: ObjectTable) => void;
