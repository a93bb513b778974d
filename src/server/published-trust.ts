/** By which authorities clients and front proxies are known, for those who serve a part of the API themselves. */
import type { TrustParts } from "../access/auth/cluster-trust.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";

import { type BackgroundTask, whenOrAborted } from "./background.ts";
import { publishTrust } from "../cluster/bootstrap/hooks.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { Loopback } from "./loopback.ts";

export function trustOf({ authorities, requestHeader }: ServerConfig): () => TrustParts {
  return () => {
    const { users, frontProxies } = authorities.current;
    return { clientCa: users?.pem, frontProxyCa: frontProxies?.pem, requestHeader };
  };
}

interface TrustPublisherParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly catalogue: Catalogue;
}

/** The CA files may be replaced while the server runs. */
export function trustPublisher(
  { env, config, catalogue }: TrustPublisherParts,
  call: Loopback["call"],
): BackgroundTask {
  const { clock, log } = env;
  return {
    name: "cluster-authentication",
    async run(signal) {
      config.authorities.onChange(() => {
        if (!signal.aborted) void publishTrust({ call, clock, log, catalogue, trust: trustOf(config) }, signal);
      });
      await whenOrAborted(new Promise(() => {}), signal);
    },
  };
}
