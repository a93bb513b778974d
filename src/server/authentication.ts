/** Who asks: every way of proving it that this server knows. */
import type { Authenticator } from "../auth/authenticate.ts";
import { loopbackAuthenticator } from "../auth/authenticators/loopback.ts";
import { requestHeaderAuthenticator } from "../auth/authenticators/request-header.ts";
import { staticTokens } from "../auth/authenticators/token-file.ts";
import { x509Authenticator } from "../auth/authenticators/x509.ts";
import { bearerAuthenticator, tokenUnion } from "../auth/bearer.ts";
import { currentVerifier } from "../auth/reloading/authorities.ts";
import { serviceAccountTokenAuthenticator } from "../auth/service-accounts/token-authenticator.ts";
import { createTokenIssuer } from "../auth/service-accounts/token-issuer.ts";
import type { TokenAuthenticator } from "../auth/tokens.ts";
import type { TokenRequests } from "../endpoints/subresources/token-request/token-request.ts";
import type { ConnectionInfo } from "../http/message.ts";
import type { ObjectReader } from "../meta/object-table.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";

export interface Tokens {
  /** Whose a token is, whoever made it. */
  readonly authenticate: TokenAuthenticator;
  readonly lasting: readonly TokenAuthenticator[];
  readonly passing: readonly TokenAuthenticator[];
  /** Undefined: this server makes none. */
  readonly requests: TokenRequests | undefined;
}

/** Without objects there are no service accounts. */
export function createTokens(
  { clock, random }: Pick<Env, "clock" | "random">,
  { serviceAccounts, users }: Pick<ServerConfig, "serviceAccounts" | "users">,
  objects: ObjectReader | undefined,
): Tokens {
  const { signingKey, issuers, apiAudiences } = serviceAccounts;
  const lasting = [staticTokens(users, apiAudiences)];
  const passing =
    objects === undefined ? [] : [serviceAccountTokenAuthenticator({ ...serviceAccounts, objects, clock })];
  return {
    ...{ lasting, passing, authenticate: tokenUnion([...lasting, ...passing]) },
    requests:
      signingKey === undefined || objects === undefined
        ? undefined
        : { ...serviceAccounts, objects, issue: createTokenIssuer({ issuer: issuers[0], key: signingKey, random }) },
  };
}

export interface AuthenticatorParts {
  readonly env: Pick<Env, "clock">;
  readonly config: Pick<ServerConfig, "authorities" | "requestHeader" | "clientCa" | "serviceAccounts">;
  readonly tokens: Tokens;
  readonly loopback: ConnectionInfo;
}

/** The order is kube-apiserver's: the first that knows the caller decides who it is. */
export function createAuthenticators({ env, config, tokens, loopback }: AuthenticatorParts): Authenticator[] {
  const { clock } = env;
  const { authorities, requestHeader, clientCa } = config;
  const { apiAudiences } = config.serviceAccounts;
  const frontProxies = currentVerifier(authorities, "frontProxies");
  return [
    loopbackAuthenticator(loopback),
    ...(requestHeader === undefined ? [] : [requestHeaderAuthenticator(requestHeader, clock, frontProxies)]),
    ...(clientCa === undefined ? [] : [x509Authenticator({ verify: currentVerifier(authorities, "users"), clock })]),
    bearerAuthenticator({ ...tokens, apiAudiences }),
  ];
}
