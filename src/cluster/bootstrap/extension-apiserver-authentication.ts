/** Updates the config map extension-apiserver-authentication whenever the CA files of this server are reloaded. */
import type { TrustParts } from "../../access/auth/cluster-trust.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";

import type { BackgroundTask } from "../../base/background.ts";
import { Wakeable } from "../../base/wakeable.ts";
import { publishTrust } from "./hooks.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import type { CertificateAuthorities } from "../../access/auth/reloading/authorities.ts";
import type { Reloading } from "../../access/auth/reloading/reloading.ts";

/** The CAs by which this server authenticates clients and front proxies. */
interface TrustConfig {
  readonly authorities: Reloading<CertificateAuthorities>;
  readonly requestHeader: TrustParts["requestHeader"];
}

export function trustOf({ authorities, requestHeader }: TrustConfig): () => TrustParts {
  return () => {
    const { users, frontProxies } = authorities.current;
    return { clientCa: users?.pem, frontProxyCa: frontProxies?.pem, requestHeader };
  };
}

const IDLE_MS = 60_000;

/** A background task that publishes the CAs again after each reload. */
export function trustPublisher(
  { env, config, catalog }: { readonly env: BaseEnv; readonly config: TrustConfig; readonly catalog: Catalog },
  call: (request: InProcessRequest) => Promise<InProcessResponse>,
): BackgroundTask {
  const { clock, log } = env;
  const due = new Wakeable(clock);
  let [reloads, publishedReloads] = [0, 0];
  config.authorities.onChange(() => {
    reloads++;
    due.wake();
  });
  return {
    name: "cluster-authentication",
    async run(signal) {
      while (!signal.aborted) {
        const current = reloads;
        if (current !== publishedReloads)
          await publishTrust({ call, clock, log, catalog, trust: trustOf(config) }, signal);
        if (signal.aborted) return;
        publishedReloads = current;
        await due.wait(IDLE_MS, signal);
      }
    },
  };
}
