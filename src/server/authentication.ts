/** Who asks: every way of proving it that this server knows. */
import type { Authenticator } from "../access/auth/authenticate.ts";
import { loopbackAuthenticator } from "../access/auth/authenticators/loopback.ts";
import { requestHeaderAuthenticator } from "../access/auth/authenticators/request-header.ts";
import { staticTokens } from "../access/auth/authenticators/token-file.ts";
import { webSocketAuthenticator } from "../access/auth/authenticators/web-socket.ts";
import { x509Authenticator } from "../access/auth/authenticators/x509.ts";
import { bearerAuthenticator, tokenUnion } from "../access/auth/bearer.ts";
import { currentVerifier } from "../access/auth/reloading/authorities.ts";
import { serviceAccountTokenAuthenticator } from "../access/auth/service-accounts/token-authenticator.ts";
import { createTokenIssuer } from "../access/auth/service-accounts/token-issuer.ts";
import type { LegacyTokenUse } from "../access/auth/service-accounts/legacy-token.ts";
import type { TokenAuthenticator } from "../access/auth/tokens.ts";
import type { Log } from "../base/log.ts";
import { messageOf } from "../base/within.ts";
import type { InProcessRequest, InProcessResponse } from "../client/in-process.ts";
import type { TokenRequests } from "../serving/endpoints/subresources/token-request/token-request.ts";
import type { ConnectionInfo } from "../serving/http/message.ts";
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

/** What there is to know of service accounts, and how it is said that a token of a Secret has been used. */
export interface Accounts {
  readonly objects: ObjectReader;
  readonly call: (request: InProcessRequest) => Promise<InProcessResponse>;
}

/** Undefined: there are no service accounts. */
export function createTokens(
  { clock, random, log }: Pick<Env, "clock" | "random" | "log">,
  { serviceAccounts, users }: Pick<ServerConfig, "serviceAccounts" | "users">,
  accounts: Accounts | undefined,
): Tokens {
  const objects = accounts?.objects;
  const { signingKey, issuers, apiAudiences } = serviceAccounts;
  const lasting = [staticTokens(users, apiAudiences)];
  const passing =
    accounts === undefined
      ? []
      : [
          serviceAccountTokenAuthenticator({
            ...{ ...serviceAccounts, objects: accounts.objects, clock },
            onLegacyUse: (use) => void labelUsed(accounts.call, use, log),
          }),
        ];
  return {
    ...{ lasting, passing, authenticate: tokenUnion([...lasting, ...passing]) },
    requests:
      signingKey === undefined || objects === undefined
        ? undefined
        : { ...serviceAccounts, objects, issue: createTokenIssuer({ issuer: issuers[0], key: signingKey, random }) },
  };
}

/** The request that used it does not wait, and does not fail with it. */
async function labelUsed(call: Accounts["call"], use: LegacyTokenUse, log: Log): Promise<void> {
  const { namespace, name, uid, label, date } = use;
  const target = `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const headers = { "content-type": "application/merge-patch+json" };
  const body = JSON.stringify({ metadata: { uid, labels: { [label]: date } } });
  const status = await call({ method: "PATCH", target, headers, body }).then(
    (answer) => answer.status,
    (thrown: unknown) => messageOf(thrown),
  );
  if (status !== 200) log.warn("a Secret does not say when its token was last used", { namespace, name, status });
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
    webSocketAuthenticator(tokens.authenticate, apiAudiences),
  ];
}
