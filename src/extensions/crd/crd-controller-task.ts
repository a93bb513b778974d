/** Creates the CRD controller with its dependencies as a background task. */
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import type { Client } from "../../client/client.ts";
import { CrdController } from "./crd-controller.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { CustomResources } from "./serving/custom-resources.ts";
import type { BaseEnv } from "../../base/env.ts";

interface CrdControllerParts {
  readonly env: BaseEnv;
  readonly client: Client;
  readonly context: RegistryContext;
  readonly custom: CustomResources;
}

export function crdController({ env, client, context, custom }: CrdControllerParts): BackgroundTask {
  const { clock, random, log } = env;
  const taken = new Set(storagePlaces().map(({ prefix }) => prefix));
  const controller = new CrdController({
    table: custom.table,
    client,
    clock,
    random,
    log,
    isBuiltInStorage: (group, resource) => taken.has(`${group}/${resource}`),
    deleteInstances: (crd, signal) => custom.deleteInstances(context, crd, signal),
  });
  return { name: "custom-resource-definitions", run: (signal) => controller.run(signal) };
}
