/** Creates the authenticators of a server. */
import { type CertificateAuthorities, currentVerifier } from "./reloading/authorities.ts";
import type { Reloading } from "./reloading/reloading.ts";
import type { RequestHeaderOptions } from "./request-header-options.ts";
import type { ServiceAccountOptions } from "./service-accounts/options.ts";
import type { User } from "./user.ts";
import type { Authenticator } from "./authenticate.ts";
import { loopbackAuthenticator } from "./authenticators/loopback.ts";
import { frontProxyVerifier, requestHeaderAuthenticator } from "./authenticators/request-header.ts";
import { webSocketAuthenticator } from "./authenticators/web-socket.ts";
import { userVerifier, x509Authenticator } from "./authenticators/x509.ts";
import { logRejectedCertificates } from "./rejected-certificates.ts";
import { bearerAuthenticator } from "./bearer.ts";
import type { Tokens } from "./create-tokens.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { ConnectionInfo } from "../../serving/http/message.ts";
import type { BaseEnv } from "../../base/env.ts";

export interface AuthenticationSettings {
  readonly serviceAccounts: ServiceAccountOptions;
  /** The users of the token file, by the digest of their token. */
  readonly users: ReadonlyMap<string, User>;
  readonly authorities: Reloading<CertificateAuthorities>;
  readonly requestHeader: RequestHeaderOptions | undefined;
  /** PEM of the CA that signs user certificates. */
  readonly clientCa: string | undefined;
}

interface AuthenticationParts {
  readonly env: Pick<BaseEnv, "clock" | "log">;
  readonly config: AuthenticationSettings;
  readonly tokens: Tokens;
  readonly loopback: ConnectionInfo;
}

/** Authentication by all methods of the server. */
interface Authentication {
  /** In kube-apiserver's order. The first one that accepts a request determines the user. */
  readonly authenticators: readonly Authenticator[];
  readonly onRejected: (request: WithInfo) => void;
}

export function createAuthentication({ env, config, tokens, loopback }: AuthenticationParts): Authentication {
  const { clock } = env;
  const { authorities, requestHeader, clientCa } = config;
  const { apiAudiences } = config.serviceAccounts;
  const users = clientCa === undefined ? [] : [currentVerifier(authorities, "users")];
  const frontProxies = currentVerifier(authorities, "frontProxies");
  return {
    authenticators: [
      loopbackAuthenticator(loopback),
      ...(requestHeader === undefined ? [] : [requestHeaderAuthenticator(requestHeader, clock, frontProxies)]),
      ...users.map((verify) => x509Authenticator(verify, clock)),
      bearerAuthenticator({ ...tokens, apiAudiences }),
      webSocketAuthenticator(tokens.authenticate, apiAudiences),
    ],
    onRejected: logRejectedCertificates({
      ...env,
      verifiers: [
        ...(requestHeader === undefined ? [] : [frontProxyVerifier(requestHeader, frontProxies)]),
        ...users.map(userVerifier),
      ],
    }),
  };
}
