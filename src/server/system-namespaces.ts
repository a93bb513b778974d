/** The namespaces without which nothing else has a place. */
import { sleep, type Clock } from "../base/clock.ts";
import type { Client } from "../client/client.ts";
import type { ResourceClient } from "../client/resource-client.ts";
import { isReason } from "../meta/status-error.ts";
import type { StartupHook } from "./lifecycle.ts";

const SYSTEM_NAMESPACES: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];
const RETRY_MS = 250;

export function systemNamespacesHook({ client, clock }: { client: Client; clock: Clock }): StartupHook {
  const namespaces = client.resource({ group: "", version: "v1", resource: "namespaces", namespaced: false });
  return {
    name: "start-system-namespaces-controller",
    async run(signal) {
      let missing = SYSTEM_NAMESPACES;
      while (missing.length > 0 && !signal.aborted) {
        const present = await Promise.all(missing.map((name) => ensureNamespace(namespaces, name)));
        missing = missing.filter((_name, index) => present[index] !== true);
        if (missing.length > 0) await sleep(clock, RETRY_MS, signal);
      }
    },
  };
}

async function ensureNamespace(namespaces: ResourceClient, name: string): Promise<boolean> {
  try {
    await namespaces.get({ name });
    return true;
  } catch (thrown) {
    if (!isReason(thrown, "NotFound")) return false;
  }
  try {
    await namespaces.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return true;
  } catch (thrown) {
    return isReason(thrown, "AlreadyExists");
  }
}
