/** Creates the authenticators of a server. */
import { type CertificateAuthorities, currentVerifier } from "./reloading/authorities.ts";
import type { Reloading } from "./reloading/reloading.ts";
import type { RequestHeaderOptions } from "./request-header-options.ts";
import type { ServiceAccountOptions } from "./service-accounts/options.ts";
import type { User } from "./user.ts";
import type { Authenticator } from "./authenticate.ts";
import { loopbackAuthenticator } from "./authenticators/loopback.ts";
import { requestHeaderAuthenticator } from "./authenticators/request-header.ts";
import { staticTokens } from "./authenticators/token-file.ts";
import { webSocketAuthenticator } from "./authenticators/web-socket.ts";
import { x509Authenticator } from "./authenticators/x509.ts";
import { bearerAuthenticator, tokenUnion } from "./bearer.ts";
import { serviceAccountTokenAuthenticator } from "./service-accounts/token-authenticator.ts";
import { createTokenIssuer } from "./service-accounts/token-issuer.ts";
import type { LegacyTokenUse } from "./service-accounts/legacy-token.ts";
import type { TokenAuthenticator } from "./tokens.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import type { TokenRequests } from "../../serving/endpoints/subresources/token-request/token-request.ts";
import type { ConnectionInfo } from "../../serving/http/message.ts";
import type { ObjectReader } from "../../meta/object-table.ts";
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

export interface Tokens {
  /** Authenticates tokens of every kind. */
  readonly authenticate: TokenAuthenticator;
  readonly staticAuthenticators: readonly TokenAuthenticator[];
  readonly dynamicAuthenticators: readonly TokenAuthenticator[];
  /** Undefined if this server does not issue tokens. */
  readonly requests: TokenRequests | undefined;
}

/** Access to the API: reads service account objects, and labels the Secret of a legacy token that was used. */
export interface Accounts {
  readonly objects: ObjectReader;
  readonly call: (request: InProcessRequest) => Promise<InProcessResponse>;
}

/** `accounts` is undefined if service accounts are disabled. */
export function createTokens(
  { clock, random, log }: BaseEnv,
  { serviceAccounts, users }: Pick<AuthenticationSettings, "serviceAccounts" | "users">,
  accounts: Accounts | undefined,
): Tokens {
  const objects = accounts?.objects;
  const { signingKey, issuers, apiAudiences } = serviceAccounts;
  const staticAuthenticators = [staticTokens(users, apiAudiences)];
  const dynamicAuthenticators =
    accounts === undefined
      ? []
      : [
          serviceAccountTokenAuthenticator({
            ...serviceAccounts,
            objects: accounts.objects,
            clock,
            onLegacyUse: (use) => void labelUsed(accounts.call, use, log),
          }),
        ];
  return {
    staticAuthenticators,
    dynamicAuthenticators,
    authenticate: tokenUnion([...staticAuthenticators, ...dynamicAuthenticators]),
    requests:
      signingKey === undefined || objects === undefined
        ? undefined
        : { ...serviceAccounts, objects, issue: createTokenIssuer(issuers[0], signingKey, random) },
  };
}

/**
 * Labels the Secret of a used token with the date. The request that used the token neither waits for this nor fails
 * with it.
 */
async function labelUsed(call: Accounts["call"], use: LegacyTokenUse, log: Log): Promise<void> {
  const { namespace, name, uid, label, date } = use;
  const target = `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const headers = { "content-type": "application/merge-patch+json" };
  const body = JSON.stringify({ metadata: { uid, labels: { [label]: date } } });
  const status = await call({ method: "PATCH", target, headers, body }).then(
    (response) => response.status,
    (thrown: unknown) => messageOf(thrown),
  );
  if (status !== 200) log.warn("failed to label a Secret with the last use of its token", { namespace, name, status });
}

interface AuthenticatorParts {
  readonly env: Pick<BaseEnv, "clock">;
  readonly config: AuthenticationSettings;
  readonly tokens: Tokens;
  readonly loopback: ConnectionInfo;
}

/** Returns the authenticators in kube-apiserver's order. The first one that accepts a request determines the user. */
export function createAuthenticators({ env, config, tokens, loopback }: AuthenticatorParts): Authenticator[] {
  const { clock } = env;
  const { authorities, requestHeader, clientCa } = config;
  const { apiAudiences } = config.serviceAccounts;
  const frontProxies = currentVerifier(authorities, "frontProxies");
  return [
    loopbackAuthenticator(loopback),
    ...(requestHeader === undefined ? [] : [requestHeaderAuthenticator(requestHeader, clock, frontProxies)]),
    ...(clientCa === undefined ? [] : [x509Authenticator(currentVerifier(authorities, "users"), clock)]),
    bearerAuthenticator({ ...tokens, apiAudiences }),
    webSocketAuthenticator(tokens.authenticate, apiAudiences),
  ];
}
