/** Certificates and CAs that may be replaced while the server runs: looked at again and again. */
import { readFileSync } from "node:fs";
import type { Log } from "../../../base/log.ts";
import { certificateAuthorities, type CertificateAuthorities } from "./authorities.ts";
import { fixedValue, followFiles, reloadingFiles, type Reloading, type ReloadingFiles } from "./reloading.ts";
import { servingCertificate, type ServingKeyPair } from "./serving-tls.ts";
import type { BaseEnv } from "../../../base/env.ts";

export interface CredentialFileNames {
  readonly clientCaFile?: string | undefined;
  readonly requestHeaderClientCaFile?: string | undefined;
  /** Front proxies are known by name, too. */
  readonly hasAllowedNames: boolean;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
}

interface CredentialFiles {
  readonly authorities: Reloading<CertificateAuthorities>;
  /** Undefined where no files were named. */
  readonly certificate: Reloading<ServingKeyPair> | undefined;
  follow(clock: BaseEnv["clock"], signal: AbortSignal): Promise<void>;
}

/** Throws for files that cannot be used. */
export function openCredentialFiles(names: CredentialFileNames, log: Pick<Log, "info" | "warn">): CredentialFiles {
  const { clientCaFile, requestHeaderClientCaFile, hasAllowedNames, tlsCertFile, tlsKeyFile } = names;
  const read = (file: string): string => readFileSync(file, "utf8");
  const followed: ReloadingFiles<unknown>[] = [];
  const followedFiles = <T>(
    what: string,
    files: readonly string[],
    parse: (texts: readonly string[]) => T,
  ): Reloading<T> => {
    const value = reloadingFiles({ what, files, read, parse, log });
    followed.push(value);
    return value;
  };
  const files = [clientCaFile, requestHeaderClientCaFile].filter((file) => file !== undefined);
  const authoritiesIn = (texts: readonly string[]): CertificateAuthorities => {
    const textOf = (file: string | undefined): string | undefined => file && texts[files.indexOf(file)];
    const [users, frontProxies] = [textOf(clientCaFile), textOf(requestHeaderClientCaFile)];
    return certificateAuthorities({ users, frontProxies, hasAllowedNames });
  };
  return {
    authorities:
      files.length === 0 ? fixedValue(authoritiesIn([])) : followedFiles("CA of clients", files, authoritiesIn),
    certificate:
      tlsCertFile === undefined || tlsKeyFile === undefined
        ? undefined
        : followedFiles("serving certificate", [tlsCertFile, tlsKeyFile], servingCertificate),
    follow: (clock, signal) => followFiles(clock, followed, signal),
  };
}
