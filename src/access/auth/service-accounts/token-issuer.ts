/** Makes tokens for service accounts. */
import { randomUuid, type Random } from "../../../base/random.ts";
import { accountUsername, credentialId } from "./account-user.ts";
import { claimsPayload } from "./claims.ts";
import type { IssueToken } from "../../../serving/endpoints/subresources/token-request/token-request-spec.ts";
import { signCompactJws } from "./jws.ts";
import type { SigningKey } from "./keys.ts";

/** The issuer is the first one of `--service-account-issuer`. */
export function createTokenIssuer(issuer: string, key: SigningKey, random: Random): IssueToken {
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
