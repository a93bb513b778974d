/**
 * Creates the ports through which endpoints serve access reviews and token requests, and the OpenID documents with
 * which other parties verify the tokens of this server.
 */
import { authorizeCreateOnUpdate, authorizeUnsafeDeletion, freshAuthorizer, type CatchUp } from "./auth/authorize.ts";
import { openIdDocuments, type OpenIdDocuments } from "./auth/service-accounts/openid.ts";
import type { WithUser } from "./auth/user.ts";
import { messageOf, within } from "../base/within.ts";
import type { Catalog } from "../objects/catalog/catalog.ts";
import { protobufTables } from "../objects/catalog/protobuf-tables.ts";
import type { ResourceDependencies } from "../serving/endpoints/resources.ts";
import { reviewEndpoint } from "../serving/endpoints/reviews/reviews.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import type { AccessSettings } from "./access-config.ts";
import type { BaseEnv } from "../base/env.ts";
import type { Access } from "./create-access.ts";
import { gatesOf } from "../objects/catalog/release-gates.ts";

interface AccessEndpointParts {
  readonly env: BaseEnv;
  readonly config: Pick<AccessSettings, "release" | "serviceAccounts">;
  readonly catalog: Catalog;
  readonly cache: WatchCache;
  readonly access: Access;
}

/** Maximum time that a request waits for catching up with the store before it is denied. */
const CATCH_UP_MS = 1_000;

export function catchUpOf({ env, cache }: Pick<AccessEndpointParts, "env" | "cache">): CatchUp {
  return async (signal) => void (await within(env.clock, CATCH_UP_MS, () => cache.catchUp(), signal));
}

/** The ports of authorization that endpoints use. */
export function accessPorts(
  parts: AccessEndpointParts,
): Pick<
  ResourceDependencies<WithUser>,
  "virtual" | "tokens" | "annotate" | "admit" | "rejectCreation" | "rejectUnsafeDeletion"
> {
  const { env, config, catalog, access } = parts;
  const { tokens } = access;
  const { admit } = access.admission;
  const { authorization } = access.authorization;
  const catchUp = catchUpOf(parts);
  return {
    virtual: reviewEndpoint<WithUser>({
      clock: env.clock,
      gates: gatesOf(config.release),
      protobuf: protobufTables,
      schemaOf: ({ group, version }, kind) => catalog.schemas.kind(group, version, kind),
      authorize: freshAuthorizer(authorization.authorize, catchUp),
      rulesFor: (user, namespace) => authorization.rulesFor(user, namespace),
      authenticateToken: tokens.authenticate,
      apiAudiences: config.serviceAccounts.apiAudiences,
      admit,
    }),
    tokens: tokens.requests,
    annotate: ({ audit }, key, value) => audit?.annotate(key, value),
    admit,
    rejectCreation: authorizeCreateOnUpdate(authorization.authorize, catchUp),
    rejectUnsafeDeletion: authorizeUnsafeDeletion(authorization.authorize, catchUp),
  };
}

/** The returned function returns undefined if the documents cannot be created, because of the issuer or the keys. */
export function openIdOf(
  { env, config }: Pick<AccessEndpointParts, "env" | "config">,
  address: () => string,
): () => OpenIdDocuments | undefined {
  let known: { readonly documents: OpenIdDocuments | undefined } | undefined;
  const read = (): OpenIdDocuments | undefined => {
    try {
      return openIdDocuments({ ...config.serviceAccounts, externalAddress: address() });
    } catch (thrown) {
      env.log.warn("OpenID discovery of service account tokens disabled", { error: messageOf(thrown) });
      return undefined;
    }
  };
  return () => (known ??= { documents: read() }).documents;
}
