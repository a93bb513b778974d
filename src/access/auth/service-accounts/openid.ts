/**
 * Creates the OpenID discovery document and the key set (JWKS), with which other parties verify service account tokens.
 */
import type { ServiceAccountOptions } from "./options.ts";
import type { VerifyingKey } from "./keys.ts";
import { goJson } from "../../../meta/go-json.ts";

export const OPENID_CONFIGURATION_PATH = "/.well-known/openid-configuration";
export const JWKS_PATH = "/openid/v1/jwks";

export interface OpenIdDocuments {
  readonly configuration: Buffer;
  readonly keySet: Buffer;
}

export interface OpenIdOptions extends Pick<ServiceAccountOptions, "issuers" | "keys" | "jwksUri"> {
  /** The address of this server as host:port. The discovery document refers to it unless a JWKS URI is configured. */
  readonly externalAddress: string;
}

/**
 * Throws an Error if the issuer is not a plain https URL or there are no keys. As in kubernetes, the server then does
 * not serve the documents.
 */
export function openIdDocuments(options: OpenIdOptions): OpenIdDocuments {
  const [issuer] = options.issuers;
  validateIssuer(issuer);
  if (options.keys.length === 0) throw new Error("no keys provided for validating keyset");
  const configuration = {
    issuer,
    jwks_uri: options.jwksUri ?? `https://${options.externalAddress}${JWKS_PATH}`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [...new Set(options.keys.map(({ algorithm }) => algorithm))].toSorted(),
  };
  return {
    configuration: Buffer.from(goJson(configuration)),
    keySet: Buffer.from(goJson({ keys: options.keys.map(toJwk) })),
  };
}

function validateIssuer(issuer: string): void {
  if (!URL.canParse(issuer) || new URL(issuer).protocol !== "https:")
    throw new Error(`issuer URL must use https scheme, got: ${issuer}`);
  const { search, hash } = new URL(issuer);
  if (search !== "") throw new Error(`issuer URL may not include a query, got: ${issuer}`);
  if (hash !== "") throw new Error(`issuer URL may not include a fragment, got: ${issuer}`);
}

/** A JSON Web Key, with the fields in the order in which kubernetes writes them. */
function toJwk({ keyId, publicKey, algorithm }: VerifyingKey): object {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: "jwk" });
  const isCurve = kty === "EC";
  return {
    use: "sig",
    kty,
    kid: keyId,
    ...(isCurve ? { crv } : {}),
    alg: algorithm,
    ...(isCurve ? { x, y } : { n, e }),
  };
}
