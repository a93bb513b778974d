/** Creates the authenticators of tokens, and the issuer of service account tokens. */
import { bootstrapTokens } from "./authenticators/bootstrap-tokens.ts";
import { staticTokens } from "./authenticators/token-file.ts";
import { tokenUnion } from "./bearer.ts";
import type { AuthenticationSettings } from "./create-authenticators.ts";
import type { LegacyTokenUse } from "./service-accounts/legacy-token.ts";
import { serviceAccountTokenAuthenticator } from "./service-accounts/token-authenticator.ts";
import { createTokenIssuer } from "./service-accounts/token-issuer.ts";
import type { TokenAuthenticator } from "./tokens.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import type { ObjectReader } from "../../meta/object-table.ts";
import type { TokenRequests } from "../../serving/endpoints/subresources/token-request/token-request.ts";

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

interface TokenSettings extends Pick<AuthenticationSettings, "serviceAccounts" | "users"> {
  readonly access: { readonly bootstrapTokens: boolean };
}

/** `accounts` is undefined if service accounts are disabled. */
export function createTokens(
  { clock, random, log }: BaseEnv,
  { serviceAccounts, users, access }: TokenSettings,
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
          ...(access.bootstrapTokens ? [bootstrapTokens({ objects: accounts.objects, clock, apiAudiences })] : []),
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
