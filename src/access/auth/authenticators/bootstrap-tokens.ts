/**
 * Authenticates the bootstrap tokens with which nodes join a cluster. A token ID.SECRET belongs to the Secret
 * bootstrap-token-ID in kube-system, so that deleting the Secret revokes the token.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { SECRETS } from "../service-accounts/credential.ts";
import type { TokenAuthenticator } from "../tokens.ts";
import type { User } from "../user.ts";

interface BootstrapTokenOptions {
  readonly objects: Pick<ObjectReader, "get">;
  readonly clock: Pick<Clock, "now">;
  readonly apiAudiences: readonly string[];
}

const NAMESPACE = "kube-system";
const TYPE = "bootstrap.kubernetes.io/token";
const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const DEFAULT_GROUP = "system:bootstrappers";
const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/**
 * Reads Secrets only from the cache, because any client can guess tokens. As kubernetes, the result does not tell an
 * invalid token from an unknown one, and the tokens are valid only for the API audiences.
 */
export function bootstrapTokens({ objects, clock, apiAudiences }: BootstrapTokenOptions): TokenAuthenticator {
  const own = new Set(apiAudiences);
  return (token, audiences) => {
    const [, id, secret] = TOKEN.exec(token) ?? [];
    if (id === undefined || secret === undefined) return "unknown";
    const meant = audiences.filter((audience) => own.has(audience));
    if (audiences.length > 0 && meant.length === 0) return "unknown";
    const kept = objects.get(SECRETS, NAMESPACE, `bootstrap-token-${id}`);
    const user = kept && userOf(kept, { id, secret, nowMs: clock.now() });
    return user === undefined ? "unknown" : { user, audiences: meant };
  };
}

function userOf(
  kept: JsonObject,
  { id, secret, nowMs }: { readonly id: string; readonly secret: string; readonly nowMs: number },
): User | undefined {
  const valueOf = (key: string): string => Buffer.from(stringAt(objectAt(kept, "data"), key), "base64").toString();
  if (stringAt(objectAt(kept, "metadata"), "deletionTimestamp") !== "" || kept["type"] !== TYPE) return undefined;
  if (!isEqual(valueOf("token-secret"), secret) || valueOf("token-id") !== id) return undefined;
  if (hasExpired(valueOf("expiration"), nowMs)) return undefined;
  if (valueOf("usage-bootstrap-authentication") !== "true") return undefined;
  const extra = valueOf("auth-extra-groups");
  const groups = extra === "" ? [] : extra.split(",");
  if (!groups.every((group) => GROUP.test(group))) return undefined;
  return {
    name: `system:bootstrap:${id}`,
    uid: "",
    groups: [...new Set([DEFAULT_GROUP, ...groups])].toSorted(),
    extra: {},
  };
}

function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
}

/** An invalid time counts as expired. */
function hasExpired(expiration: string, nowMs: number): boolean {
  return expiration !== "" && !(RFC3339.test(expiration) && Date.parse(expiration) > nowMs);
}
