/** Reads the credentials in the files that the flags of `serve` name, before the server is started. */
import { openCredentialFiles, type CredentialFileNames } from "../../access/auth/reloading/credential-files.ts";
import type { Env } from "../../server/env.ts";
import type { ServingCredentials } from "./data-directory.ts";
import { parseTokenFile } from "../../access/auth/authenticators/token-file.ts";
import { asUsable, readCertificates, readFile } from "./read-file.ts";
import { existingKeyPair, type KeyPairFiles } from "./secure-serving-flags.ts";
import type { ServeFlags } from "./serve-flags.ts";

export interface NamedFiles {
  /**
   * `tokens`, `credentials` and `rootCa` are read from the files that flags name. Each is undefined if its flag is not
   * set; its default then applies.
   */
  readonly tokens: string | undefined;
  readonly credentials: ServingCredentials | undefined;
  readonly rootCa: string | undefined;
  readonly followed: ReturnType<typeof openCredentialFiles>;
}

export function readNamedFiles(flags: ServeFlags, { log }: Env): NamedFiles {
  const pair = existingKeyPair(flags);
  return {
    tokens: flags.tokenAuthFile === undefined ? undefined : tokensIn(flags.tokenAuthFile),
    credentials: pair && namedCredentials(pair),
    rootCa: flags.rootCaFile === undefined ? undefined : readCertificates(flags.rootCaFile, "root CA (--root-ca-file)"),
    followed: asUsable(() => openCredentialFiles(fileNamesOf(flags, pair), log), unusableFiles(flags, pair)),
  };
}

function fileNamesOf(flags: ServeFlags, pair: KeyPairFiles | undefined): CredentialFileNames {
  return {
    clientCaFile: flags.clientCaFile,
    requestHeaderClientCaFile: flags.requestheaderClientCaFile,
    hasAllowedNames: (flags.requestheaderAllowedNames ?? []).length > 0,
    tlsCertFile: pair?.cert,
    tlsKeyFile: pair?.key,
    tlsNamedKeyFiles: flags.tlsSniCertKey,
  };
}

function namedCredentials(files: KeyPairFiles): ServingCredentials {
  const cert = readFile(files.cert, "serving certificate (--tls-cert-file)");
  return { cert, key: readFile(files.key, "serving key (--tls-private-key-file)"), ca: cert };
}

/**
 * The message about files that cannot be used. It does not mention CA files, because these have been checked before.
 */
function unusableFiles({ tlsSniCertKey = [] }: ServeFlags, pair: KeyPairFiles | undefined): string {
  const named = tlsSniCertKey.map(({ certFile, keyFile }) => `${certFile},${keyFile}`).join(" ");
  const files = [
    ...(pair === undefined ? [] : [`the serving certificate ${pair.cert} and its key ${pair.key}`]),
    ...(named === "" ? [] : [`the certificates of --tls-sni-cert-key ${named}`]),
  ];
  return `${files.join(" or ") || "a CA bundle"} cannot be used`;
}

/** Checks the file before anything is created. */
function tokensIn(file: string): string {
  const text = readFile(file, "token file (--token-auth-file)");
  asUsable(() => parseTokenFile(text), `the token file ${file} (--token-auth-file) cannot be used`);
  return text;
}
