/** The flags about tokens of service accounts, and about who may ask without any credentials. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Option, type Command } from "commander";
import { duration, commaList, yesOrNo } from "./flags.ts";
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
  /** Undefined where nobody has said. */
  readonly anonymousAuth?: boolean;
}

interface KeyFile {
  readonly file: string;
  readonly pem: string;
}

/** What the server is told of service accounts. */
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
    .option("--service-account-key-file <file>", "keys that verify tokens of service accounts; repeatable", each)
    .option(
      "--service-account-signing-key-file <file>",
      "key that signs them; without any key one is made and kept in the data directory",
    )
    .option(
      "--service-account-issuer <id>",
      "who issues them; repeatable: the first one issues, all are accepted (default https://kubernetes.default.svc.cluster.local)",
      each,
    )
    .option("--service-account-jwks-uri <url>", "where others find the keys, by default at this server")
    .addOption(
      new Option("--service-account-max-token-expiration <duration>", "tokens hold no longer than this")
        .argParser(duration)
        .default(0, "as asked for"),
    )
    .addOption(
      yesOrNo("--service-account-extend-token-expiration", "tokens made for pods for an hour hold for a year").default(
        true,
      ),
    )
    .addOption(
      yesOrNo("--service-account-lookup", "tokens in Secrets hold only as long as the Secret is there").default(true),
    )
    .option("--api-audiences <names>", "what tokens must be meant for, by default the issuers", commaList)
    .addOption(
      yesOrNo(
        "--anonymous-auth",
        "requests without credentials are those of system:anonymous (default: true; with AlwaysAllow false)",
      ),
    );
}

/** `kept` is what signs where no key is named. */
export function serviceAccountsOf(flags: CredentialFlags, kept: KeyFile | undefined): ServiceAccountSettings {
  const { serviceAccountKeyFile = [], serviceAccountSigningKeyFile: signing } = flags;
  return {
    keyFiles: serviceAccountKeyFile.map((file) => ({ file, pem: readFile(file, "service account key") })),
    signingKey:
      signing === undefined
        ? usesKeptKey(flags)
          ? kept
          : undefined
        : { file: signing, pem: readFile(signing, "signing key of service accounts") },
    issuers: flags.serviceAccountIssuer,
    jwksUri: flags.serviceAccountJwksUri,
    maxTokenExpirationMs: flags.serviceAccountMaxTokenExpiration,
    extendTokenExpiration: flags.serviceAccountExtendTokenExpiration,
    lookup: flags.serviceAccountLookup,
    apiAudiences: flags.apiAudiences,
  };
}

export function usesKeptKey({ serviceAccountKeyFile, serviceAccountSigningKeyFile }: CredentialFlags): boolean {
  return serviceAccountKeyFile === undefined && serviceAccountSigningKeyFile === undefined;
}

/** The key kept in the directory, made when there is none: of servers that start at once all have the same. */
export function keptServiceAccountKey(directory: string): KeyFile {
  const file = join(directory, "sa.key");
  const kept = readIfThere(file);
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

function readIfThere(file: string): string | undefined {
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
