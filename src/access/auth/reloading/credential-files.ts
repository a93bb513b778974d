/** Opens the certificate and CA files of the server, which are polled so that replaced files take effect. */
import { readFileSync } from "node:fs";
import type { Log } from "../../../base/log.ts";
import { certificateAuthorities, type CertificateAuthorities } from "./authorities.ts";
import { fixedValue, pollFiles, reloadingFiles, type Reloading, type ReloadingFiles } from "./reloading.ts";
import type { NamedKeyPair } from "../../../serving/http/node/named-contexts.ts";
import { namedCertificates, servingCertificate, type NamedKeyFiles, type ServingKeyPair } from "./serving-tls.ts";
import type { BaseEnv } from "../../../base/env.ts";

export interface CredentialFileNames {
  readonly clientCaFile?: string | undefined;
  readonly requestHeaderClientCaFile?: string | undefined;
  /** True if `--requestheader-allowed-names` restricts the front proxies. */
  readonly hasAllowedNames: boolean;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  /** Certificates for single server names. */
  readonly tlsNamedKeyFiles?: readonly NamedKeyFiles[] | undefined;
}

interface CredentialFiles {
  readonly authorities: Reloading<CertificateAuthorities>;
  /** Undefined if no certificate files are configured. */
  readonly certificate: Reloading<ServingKeyPair> | undefined;
  /** Undefined if no certificates for single server names are configured. */
  readonly named: Reloading<readonly NamedKeyPair[]> | undefined;
  follow(clock: BaseEnv["clock"], signal: AbortSignal): Promise<void>;
}

/** Throws if a file is missing or invalid. */
export function openCredentialFiles(names: CredentialFileNames, log: Pick<Log, "info" | "warn">): CredentialFiles {
  const { clientCaFile, requestHeaderClientCaFile, hasAllowedNames, tlsCertFile, tlsKeyFile } = names;
  const { tlsNamedKeyFiles: named = [] } = names;
  const read = (file: string): string => readFileSync(file, "utf8");
  const followed: ReloadingFiles<unknown>[] = [];
  const followedFiles = <T>(
    what: string,
    files: readonly string[],
    parse: (texts: readonly string[]) => T,
  ): Reloading<T> => {
    const value = reloadingFiles({ valueName: what, files, read, parse, log });
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
      files.length === 0 ? fixedValue(authoritiesIn([])) : followedFiles("client CA bundle", files, authoritiesIn),
    certificate:
      tlsCertFile === undefined || tlsKeyFile === undefined
        ? undefined
        : followedFiles("serving certificate", [tlsCertFile, tlsKeyFile], servingCertificate),
    named:
      named.length === 0
        ? undefined
        : followedFiles(
            "certificates of server names",
            named.flatMap(({ certFile, keyFile }) => [certFile, keyFile]),
            (texts) => namedCertificates(named, texts),
          ),
    follow: (clock, signal) => pollFiles(clock, followed, signal),
  };
}
