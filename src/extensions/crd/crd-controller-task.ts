/** Creates the CRD controller with its dependencies as a background task. */
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import type { Client } from "../../client/client.ts";
import { CrdController } from "./crd-controller.ts";
import { NamesTurn } from "./names-turn.ts";
import type { CommitCondition } from "../../meta/commit-condition.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { Kv } from "../../storage/kv.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { CustomResources } from "./serving/custom-resources.ts";
import type { BaseEnv } from "../../base/env.ts";

interface CrdControllerParts {
  readonly env: BaseEnv;
  readonly config: { readonly storageRoot: string; readonly peers: { readonly serverId: string } };
  readonly loopback: {
    readonly client: Client;
    clientsUnder(conditionOf: () => CommitCondition): { readonly client: Client };
  };
  readonly kv: Kv;
  readonly context: RegistryContext;
  readonly custom: CustomResources;
}

export function crdController(parts: CrdControllerParts): BackgroundTask {
  const { env, config, loopback, kv, context, custom } = parts;
  const { clock, random, log } = env;
  const { storageRoot, peers } = config;
  const taken = new Set(storagePlaces().map(({ prefix }) => prefix));
  const controller = new CrdController({
    table: custom.table,
    client: loopback.client,
    clientUnder: (guard) => loopback.clientsUnder(() => ({ guard })).client,
    clock,
    random,
    log,
    turn: new NamesTurn({ kv, cache: context.store.cache, storageRoot, serverId: peers.serverId }),
    readNewest: () => custom.stored.readNewest(context),
    isBuiltInStorage: (group, resource) => taken.has(`${group}/${resource}`),
    deleteInstances: (crd, signal) => custom.stored.deleteInstances(context, crd, signal),
  });
  return { name: "custom-resource-definitions", run: (signal) => controller.run(signal) };
}
