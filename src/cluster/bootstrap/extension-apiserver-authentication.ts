/** Updates the config map extension-apiserver-authentication whenever the CA files of this server are reloaded. */
import type { TrustParts } from "../../access/auth/cluster-trust.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";

import { type BackgroundTask, whenOrAborted } from "../../base/background.ts";
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

/** A background task that publishes the CAs again after each reload. */
export function trustPublisher(
  { env, config, catalog }: { readonly env: BaseEnv; readonly config: TrustConfig; readonly catalog: Catalog },
  call: (request: InProcessRequest) => Promise<InProcessResponse>,
): BackgroundTask {
  const { clock, log } = env;
  return {
    name: "cluster-authentication",
    async run(signal) {
      config.authorities.onChange(() => {
        if (!signal.aborted) void publishTrust({ call, clock, log, catalog, trust: trustOf(config) }, signal);
      });
      await whenOrAborted(new Promise(() => {}), signal);
    },
  };
}
