/** Validates the `--service-account-*` flags, which set the keys, issuers, audiences and maximum lifetime of tokens. */
import { parsePublicKeys, parseSigningKey, type SigningKey, type VerifyingKey } from "./keys.ts";

/** The content of a key file, with its name for error messages. */
interface KeyFile {
  readonly file: string;
  readonly pem: string;
}

export interface ServiceAccountFlags {
  readonly keyFiles?: readonly KeyFile[] | undefined;
  /** The key that signs tokens. If absent, the server issues no tokens. */
  readonly signingKey?: KeyFile | undefined;
  readonly issuers?: readonly string[] | undefined;
  readonly jwksUri?: string | undefined;
  /** Maximum lifetime of a token; 0 or undefined means no maximum. */
  readonly maxTokenExpirationMs?: number | undefined;
  readonly extendTokenExpiration?: boolean | undefined;
  readonly lookup?: boolean | undefined;
  readonly apiAudiences?: readonly string[] | undefined;
}

export interface ServiceAccountOptions {
  /** The accepted issuers. The first of them is the issuer of new tokens. */
  readonly issuers: readonly [string, ...string[]];
  /** The keys that verify tokens. */
  readonly keys: readonly VerifyingKey[];
  readonly signingKey: SigningKey | undefined;
  readonly jwksUri: string | undefined;
  /** 0 means no maximum. */
  readonly maxExpirationSeconds: number;
  readonly extendsExpiration: boolean;
  readonly lookup: boolean;
  readonly apiAudiences: readonly string[];
}

const DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local";
const HOUR_MS = 3_600_000;
const EXPIRATION_MS_MAX = 2 ** 32 * 1000;

/** Throws an Error with a one-sentence message if the flags are invalid. */
export function serviceAccountOptions(flags: ServiceAccountFlags): ServiceAccountOptions {
  const issuers = checkedIssuers(flags.issuers ?? []);
  const signingKey = flags.signingKey && readSigningKey(flags.signingKey);
  const { apiAudiences = [] } = flags;
  return {
    issuers,
    keys: allKeys(flags.keyFiles ?? [], signingKey),
    signingKey,
    jwksUri: flags.jwksUri === undefined || flags.jwksUri === "" ? undefined : checkedJwksUri(flags.jwksUri),
    maxExpirationSeconds: checkedExpiration(flags.maxTokenExpirationMs ?? 0),
    extendsExpiration: flags.extendTokenExpiration ?? true,
    lookup: flags.lookup ?? true,
    apiAudiences: apiAudiences.length === 0 ? issuers : apiAudiences,
  };
}

function checkedIssuers([first, ...others]: readonly string[]): readonly [string, ...string[]] {
  if (first === undefined) return [DEFAULT_ISSUER];
  const seen = new Set<string>();
  for (const issuer of [first, ...others]) {
    if (issuer === "") throw new Error("service-account-issuer should not be an empty string");
    if (issuer.includes(":") && !URL.canParse(issuer))
      throw new Error(`service-account-issuer ${JSON.stringify(issuer)} contained a ':' but was not a valid URL`);
    if (seen.has(issuer)) throw new Error(`service-account-issuer ${JSON.stringify(issuer)} is already specified`);
    seen.add(issuer);
  }
  return [first, ...others];
}

function readSigningKey({ file, pem }: KeyFile): SigningKey {
  return explained(() => parseSigningKey(pem), `--service-account-signing-key-file ${file} is invalid`);
}

/**
 * All keys that verify tokens, including the signing key. DIFFERS: kubernetes rejects the tokens that it issues if
 * their public key is not configured too.
 */
function allKeys(files: readonly KeyFile[], signingKey: SigningKey | undefined): readonly VerifyingKey[] {
  const named = files.flatMap(({ file, pem }) =>
    explained(() => parsePublicKeys(pem), `--service-account-key-file ${file} is invalid`),
  );
  if (signingKey === undefined || named.some(({ keyId }) => keyId === signingKey.keyId)) return named;
  const { keyId, publicKey, algorithm } = signingKey;
  return [...named, { keyId, publicKey, algorithm }];
}

function checkedJwksUri(uri: string): string {
  if (!URL.canParse(uri)) throw new Error("service-account-jwks-uri must be a valid URL");
  if (new URL(uri).protocol !== "https:")
    throw new Error(`service-account-jwks-uri requires https scheme, parsed as: ${uri}`);
  return uri;
}

function checkedExpiration(milliseconds: number): number {
  if (milliseconds !== 0 && (milliseconds < HOUR_MS || milliseconds > EXPIRATION_MS_MAX))
    throw new Error("the service-account-max-token-expiration must be between 1 hour and 2^32 seconds");
  return Math.floor(milliseconds / 1000);
}

function explained<T>(work: () => T, sentence: string): T {
  try {
    return work();
  } catch (thrown) {
    throw new Error(`${sentence}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, { cause: thrown });
  }
}
