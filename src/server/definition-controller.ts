/** The controller of definitions, with what it needs of the server. */
import { storagePlaces } from "../objects/catalogue/storage-places.ts";
import type { Client } from "../client/client.ts";
import { DefinitionController } from "../extensions/crd/definition-controller.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import type { BackgroundTask } from "./background.ts";
import type { CustomResources } from "./custom-resources.ts";
import type { Env } from "./env.ts";
import type { Lifecycle } from "./lifecycle.ts";

export interface DefinitionControllerParts {
  readonly env: Env;
  readonly client: Client;
  readonly context: RegistryContext;
  readonly shared: { readonly custom: CustomResources };
  readonly lifecycle: Lifecycle;
}

export function definitionController({ env, client, context, shared }: DefinitionControllerParts): BackgroundTask {
  const { clock, random, log } = env;
  const taken = new Set(storagePlaces().map(({ prefix }) => prefix));
  const controller = new DefinitionController({
    ...{ table: shared.custom.table, client, clock, random, log },
    isBuiltInStorage: (group, resource) => taken.has(`${group}/${resource}`),
    deleteInstances: (definition, signal) => shared.custom.deleteInstances(context, definition, signal),
  });
  return { name: "custom-resource-definitions", run: (signal) => controller.run(signal) };
}
