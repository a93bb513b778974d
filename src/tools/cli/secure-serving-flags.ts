/** The flags of `serve` for the listener: certificates of single names, TLS, HTTP/2 and the port. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import type { NamedKeyFiles } from "../../access/auth/reloading/serving-tls.ts";
import type { ListenConfig } from "../../server/listener.ts";
import { CommandFailure } from "./failure.ts";
import { booleanOption, countOrZero } from "./flags.ts";
import { cipherSuites, curves, opensslCiphers, opensslCurves, tlsVersion } from "./kube-flags/tls-names.ts";

export interface SecureServingFlags {
  readonly certDir?: string;
  readonly disableHttp2Serving?: boolean;
  readonly http2MaxStreamsPerConnection: number;
  readonly permitPortSharing?: boolean;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsCurvePreferences?: readonly string[];
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  readonly tlsSniCertKey?: readonly NamedKeyFiles[];
}

export function withSecureServingFlags(command: Command): Command {
  return command
    .option("--tls-cert-file <file>", "serving certificate; without it one is generated in the data directory")
    .option("--tls-private-key-file <file>", "key of the serving certificate")
    .option(
      "--cert-dir <directory>",
      "directory of the serving certificate apiserver.crt and its key apiserver.key, generated if they are missing",
    )
    .option(
      "--tls-sni-cert-key <files>",
      "certificate and key for server names, cert,key or cert,key:name,*.name; repeatable",
      namedKeyFiles,
    )
    .option("--tls-min-version <version>", "minimum TLS version, VersionTLS12 or VersionTLS13", tlsVersion)
    .option(
      "--tls-cipher-suites <names>",
      "cipher suites, with the names of Go (default: those of Node.js)",
      cipherSuites,
    )
    .option(
      "--tls-curve-preferences <ids>",
      "key exchange groups, as CurveIDs of Go (default: those of OpenSSL)",
      curves,
    )
    .addOption(booleanOption("--disable-http2-serving", "serve only HTTP/1.1"))
    .option(
      "--http2-max-streams-per-connection <n>",
      "maximum number of concurrent requests on an HTTP/2 connection; 0 selects the default of 1000",
      countOrZero,
      0,
    )
    .addOption(booleanOption("--permit-port-sharing", "let other processes listen on the same port (SO_REUSEPORT)"));
}

/** The part of the listener's configuration that these flags define. */
export function listenOptionsOf(
  flags: SecureServingFlags,
): Pick<ListenConfig, "tlsSettings" | "isHttp2Disabled" | "isPortShared" | "limits"> {
  const { tlsMinVersion: minVersion, tlsCipherSuites = [], tlsCurvePreferences = [] } = flags;
  return {
    tlsSettings: {
      ...(minVersion === undefined ? {} : { minVersion }),
      ...(tlsCipherSuites.length === 0 ? {} : { ciphers: opensslCiphers(tlsCipherSuites) }),
      ...(tlsCurvePreferences.length === 0 ? {} : { curves: opensslCurves(tlsCurvePreferences) }),
    },
    isHttp2Disabled: flags.disableHttp2Serving ?? false,
    isPortShared: flags.permitPortSharing ?? false,
    limits: flags.http2MaxStreamsPerConnection > 0 ? { streamsMax: flags.http2MaxStreamsPerConnection } : {},
  };
}

export interface KeyPairFiles {
  readonly cert: string;
  readonly key: string;
}

/** The files of the serving certificate in --cert-dir; undefined if flags name other files or no directory. */
export function certDirFiles({
  certDir,
  tlsCertFile,
  tlsPrivateKeyFile,
}: SecureServingFlags): KeyPairFiles | undefined {
  if (certDir === undefined || certDir === "" || tlsCertFile !== undefined || tlsPrivateKeyFile !== undefined)
    return undefined;
  const directory = resolve(certDir);
  return { cert: join(directory, "apiserver.crt"), key: join(directory, "apiserver.key") };
}

/** The files of a serving certificate that exists before the start; undefined if one must be generated. */
export function existingKeyPair(flags: SecureServingFlags): KeyPairFiles | undefined {
  const { tlsCertFile: cert, tlsPrivateKeyFile: key } = flags;
  if (cert !== undefined && key !== undefined) return { cert, key };
  const files = certDirFiles(flags);
  if (files === undefined) return undefined;
  const [hasCert, hasKey] = [existsSync(files.cert), existsSync(files.key)];
  if (hasCert !== hasKey)
    throw new CommandFailure(
      `${hasCert ? files.cert : files.key} exists without ${hasCert ? files.key : files.cert}: add the missing file, or remove the other one`,
      1,
    );
  return hasCert ? files : undefined;
}

/** As kubernetes: "cert,key" or "cert,key:name,name". */
function namedKeyFiles(text: string, before: readonly NamedKeyFiles[] | undefined): NamedKeyFiles[] {
  const colon = text.indexOf(":");
  const files = (colon === -1 ? text : text.slice(0, colon)).split(",").map((part) => part.trim());
  const names =
    colon === -1
      ? []
      : text
          .slice(colon + 1)
          .split(",")
          .map((part) => part.trim());
  const [certFile = "", keyFile = "", ...rest] = files;
  if (certFile === "" || keyFile === "" || rest.length > 0)
    throw new InvalidArgumentError("expected comma separated certificate and key file paths.");
  if (names.includes("")) throw new InvalidArgumentError("an empty name is not allowed.");
  return [...(before ?? []), { certFile, keyFile, names }];
}
