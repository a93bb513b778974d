/** Makes tokens for service accounts. */
import { randomUuid, type Random } from "../../../base/random.ts";
import { accountUsername, credentialId } from "./account-user.ts";
import { claimsPayload, type ObjectClaim } from "./claims.ts";
import { signCompactJws } from "./jws.ts";
import type { SigningKey } from "./keys.ts";

export interface TokenWish {
  readonly namespace: string;
  readonly serviceAccount: ObjectClaim;
  readonly pod?: ObjectClaim | undefined;
  readonly secret?: ObjectClaim | undefined;
  /** What the token is bound to, or where its pod runs. */
  readonly node?: ObjectClaim | undefined;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  /** When its use is to be noted; undefined for never. */
  readonly warnAfterSeconds?: number | undefined;
  /** Releases before 1.30 give tokens no id. */
  readonly hasId: boolean;
  readonly nowMs: number;
}

export interface IssuedToken {
  readonly token: string;
  /** As it stands in the extra of whoever uses it; empty for one without an id. */
  readonly credentialId: string;
}

export type TokenIssuer = (wish: TokenWish) => IssuedToken;

export interface TokenIssuerOptions {
  /** The first one of `--service-account-issuer`. */
  readonly issuer: string;
  readonly key: SigningKey;
  readonly random: Random;
}

export function createTokenIssuer({ issuer, key, random }: TokenIssuerOptions): TokenIssuer {
  return (wish) => {
    const { namespace, serviceAccount, pod, secret, node, warnAfterSeconds } = wish;
    const now = Math.floor(wish.nowMs / 1000);
    const id = wish.hasId ? randomUuid(random) : "";
    const payload = claimsPayload(
      {
        issuer,
        subject: accountUsername(namespace, serviceAccount.name),
        id,
        audiences: wish.audiences,
        expiry: now + wish.expirationSeconds,
        notBefore: now,
        issuedAt: now,
      },
      {
        namespace,
        serviceAccount,
        pod,
        secret,
        node,
        warnAfter: warnAfterSeconds === undefined ? undefined : now + warnAfterSeconds,
      },
    );
    return { token: signCompactJws(payload, key), credentialId: id === "" ? "" : credentialId(id) };
  };
}
