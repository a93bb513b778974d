/** The flags of `serve` for service account tokens and anonymous requests. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Option, type Command } from "commander";
import { duration, commaList, booleanOption } from "./flags.ts";
import { readFile } from "./read-file.ts";

export interface CredentialFlags {
  readonly serviceAccountKeyFile?: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  readonly serviceAccountIssuer?: readonly string[];
  readonly serviceAccountJwksUri?: string;
  readonly serviceAccountMaxTokenExpiration: number;
  readonly serviceAccountExtendTokenExpiration: boolean;
  readonly serviceAccountLookup: boolean;
  readonly apiAudiences?: readonly string[];
  /** Undefined if the flag is not set. */
  readonly anonymousAuth?: boolean;
}

interface KeyFile {
  readonly file: string;
  readonly pem: string;
}

/** The service account options of the server. */
interface ServiceAccountSettings {
  readonly keyFiles: readonly KeyFile[];
  readonly signingKey: KeyFile | undefined;
  readonly issuers: readonly string[] | undefined;
  readonly jwksUri: string | undefined;
  readonly maxTokenExpirationMs: number;
  readonly extendTokenExpiration: boolean;
  readonly lookup: boolean;
  readonly apiAudiences: readonly string[] | undefined;
}

export function withCredentialFlags(command: Command): Command {
  return command
    .option("--service-account-key-file <file>", "file with keys that verify service account tokens; repeatable", each)
    .option(
      "--service-account-signing-key-file <file>",
      "key that signs service account tokens; without any key one is generated in the data directory",
    )
    .option(
      "--service-account-issuer <id>",
      "issuer of service account tokens; repeatable: the first issues, all are accepted (default: https://kubernetes.default.svc.cluster.local)",
      each,
    )
    .option(
      "--service-account-jwks-uri <url>",
      "URL of the public keys, for other services that verify tokens (default: on this server)",
    )
    .addOption(
      new Option("--service-account-max-token-expiration <duration>", "maximum lifetime of a service account token")
        .argParser(duration)
        .default(0, "as requested"),
    )
    .addOption(
      booleanOption(
        "--service-account-extend-token-expiration",
        "extend the lifetime of pod tokens from one hour to one year",
      ).default(true),
    )
    .addOption(
      booleanOption("--service-account-lookup", "reject a token from a Secret after the Secret is deleted").default(
        true,
      ),
    )
    .option("--api-audiences <names>", "accepted audiences of service account tokens (default: the issuers)", commaList)
    .addOption(
      booleanOption(
        "--anonymous-auth",
        "treat requests without credentials as system:anonymous (default: true; false with AlwaysAllow)",
      ),
    );
}

/** The service account options of the flags. `kept` signs tokens if no flag names a key. */
export function serviceAccountsOf(flags: CredentialFlags, kept: KeyFile | undefined): ServiceAccountSettings {
  const { serviceAccountKeyFile = [], serviceAccountSigningKeyFile: signing } = flags;
  return {
    keyFiles: serviceAccountKeyFile.map((file) => ({
      file,
      pem: readFile(file, "service account key (--service-account-key-file)"),
    })),
    signingKey:
      signing === undefined
        ? usesGeneratedKey(flags)
          ? kept
          : undefined
        : { file: signing, pem: readFile(signing, "service account signing key (--service-account-signing-key-file)") },
    issuers: flags.serviceAccountIssuer,
    jwksUri: flags.serviceAccountJwksUri,
    maxTokenExpirationMs: flags.serviceAccountMaxTokenExpiration,
    extendTokenExpiration: flags.serviceAccountExtendTokenExpiration,
    lookup: flags.serviceAccountLookup,
    apiAudiences: flags.apiAudiences,
  };
}

export function usesGeneratedKey({ serviceAccountKeyFile, serviceAccountSigningKeyFile }: CredentialFlags): boolean {
  return serviceAccountKeyFile === undefined && serviceAccountSigningKeyFile === undefined;
}

/**
 * Returns the key of the directory, and creates it if it is missing. Servers that start at the same time use the same
 * key.
 */
export function ensureServiceAccountKey(directory: string): KeyFile {
  const file = join(directory, "sa.key");
  const kept = readIfExists(file);
  if (kept !== undefined) return { file, pem: kept };
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const whole = `${file}.${randomUUID()}`;
  try {
    writeFileSync(whole, privateKey.export({ type: "sec1", format: "pem" }), { mode: 0o600, flag: "wx" });
    linkSync(whole, file);
  } catch (thrown) {
    if (!hasCode(thrown, "EEXIST")) throw thrown;
  } finally {
    rmSync(whole, { force: true });
  }
  return { file, pem: readFileSync(file, "utf8") };
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (hasCode(thrown, "ENOENT")) return undefined;
    throw thrown;
  }
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === code;
}

function each(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), text];
}
