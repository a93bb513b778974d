/** The namespaces without which nothing else has a place. */
import { sleep, type Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { InProcessRequest, InProcessResponse } from "../client/in-process.ts";
import type { StartupHook } from "./lifecycle.ts";

const SYSTEM_NAMESPACES: readonly string[] = ["default", "kube-system", "kube-public", "kube-node-lease"];
const RETRY_MS = 250;

export function systemNamespacesHook(options: { call: (request: InProcessRequest) => Promise<InProcessResponse>; clock: Clock; log: Log }): StartupHook {
  return {
    name: "start-system-namespaces-controller",
    async run(signal) {
      let missing = SYSTEM_NAMESPACES;
      while (missing.length > 0 && !signal.aborted) {
        const present = await Promise.all(missing.map((name) => ensureNamespace(options.call, name)));
        missing = missing.filter((_name, index) => present[index] !== true);
        if (missing.length > 0) await sleep(options.clock, RETRY_MS, signal);
      }
    },
  };
}

async function ensureNamespace(call: (request: InProcessRequest) => Promise<InProcessResponse>, name: string): Promise<boolean> {
  const existing = await call({ method: "GET", target: `/api/v1/namespaces/${name}` });
  if (existing.status === 200) return true;
  if (existing.status !== 404) return false;
  const created = await call({ method: "POST", target: "/api/v1/namespaces", body: { apiVersion: "v1", kind: "Namespace", metadata: { name } } });
  return created.status === 201 || created.status === 409;
}
