/** Issues tokens for TokenRequests of service accounts. */
import { randomUuid, type Random } from "../../../base/random.ts";
import { accountUsername, credentialId } from "./account-user.ts";
import { claimsPayload } from "./claims.ts";
import type { IssueToken } from "../../../serving/endpoints/subresources/token-request/token-request-spec.ts";
import { signCompactJws } from "./jws.ts";
import type { SigningKey } from "./keys.ts";

/** `issuer` is the first value of `--service-account-issuer`. */
export function createTokenIssuer(issuer: string, key: SigningKey, random: Random): IssueToken {
  return (spec) => {
    const { namespace, serviceAccount, pod, secret, node, warnAfterSeconds } = spec;
    const now = Math.floor(spec.nowMs / 1000);
    const id = spec.hasId ? randomUuid(random) : "";
    const payload = claimsPayload(
      {
        issuer,
        subject: accountUsername(namespace, serviceAccount.name),
        id,
        audiences: spec.audiences,
        expiry: now + spec.expirationSeconds,
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
