/** `evenkeel serve`: runs one API server. */
import { stopOnSignals } from "./stop-on-signals.ts";
import { resolve } from "node:path";
import { Command } from "commander";
import { makeDirectory } from "../../base/make-directory.ts";
import { withStoredCredentials, type ServerConfig } from "../../server/config.ts";
import { createNodeEnv, type LogLevel } from "../../server/env-node.ts";
import type { Env } from "../../server/env.ts";
import { startListening, type ListeningServer } from "../../server/listener.ts";
import { startWithClearErrors } from "./clear-start-errors.ts";
import {
  createKeyPairFiles,
  ensureTokenFile,
  firstToken,
  servingCredentials,
  writeKubeconfig,
} from "./data-directory.ts";
import { withAuditFlags } from "./audit-flags.ts";
import {
  ensureServiceAccountKey,
  serviceAccountsOf,
  usesGeneratedKey,
  withCredentialFlags,
} from "./credential-flags.ts";
import { withServeAccessFlags } from "./access-flags.ts";
import { KUBE_APISERVER_FLAGS } from "./kube-flags/flag-table.ts";
import { findingsIn, withKubeFlags, type FlagFindings } from "./kube-flags/kube-options.ts";
import { withPeerFlags } from "./peer-flags.ts";
import { asUsable } from "./read-file.ts";
import { readNamedFiles, type NamedFiles } from "./named-files.ts";
import { openStore } from "./open-store.ts";
import { certDirFiles, listenOptionsOf } from "./secure-serving-flags.ts";
import { asCommand, checkedConfig, etcdServersInClear, type AllFlags } from "./serve-config.ts";
import { versionRequest, versionLine, withVersionFlags } from "./version-flags.ts";
import { withCallerFlags, withLifecycleFlags, withServeFlags, type ServeFlags } from "./serve-flags.ts";

export function serveCommand(): Command {
  const command = new Command("serve")
    .summary("Run one API server")
    .description("Run one API server. Flags that it shares with kube-apiserver have the same names.")
    .addHelpText("after", "\nFurther flags of kube-apiserver are ignored with a warning, or rejected: docs/flags.md");
  const alone = withLifecycleFlags(withVersionFlags(withServeFlags(command)));
  const known = withServeAccessFlags(withCredentialFlags(withCallerFlags(alone)));
  return withKubeFlags(withPeerFlags(withAuditFlags(known)), KUBE_APISERVER_FLAGS).action((flags: AllFlags) =>
    serve(flags, command),
  );
}

async function serve(flags: AllFlags, command: Command): Promise<void> {
  const version = versionLine(flags);
  if (version !== undefined && asCommand(() => versionRequest(flags)) === "print") return print(version);
  const directory = resolve(flags.dataDir);
  // Invalid flags fail before anything is written to the disk.
  const findings = findingsIn(command, KUBE_APISERVER_FLAGS);
  const checked = checkedConfig(flags, directory, findings.errors);
  // Objects include Secrets: only the user of this process may read its files.
  process.umask(0o077);
  const env = createNodeEnv({ logLevel: flags.logLevel ?? logLevelOf(flags.v) });
  warnOfFlags(env, flags, findings);
  const named = readNamedFiles(flags, env);
  asUsable(() => makeDirectory(directory), unusable(directory));
  // The store locks the directory, so it is opened before this process writes any file that another process may use.
  const kv = checked.storage.kind === "embedded" ? await openStore(directory, env) : undefined;
  const parts = { flags, checked, directory, named, env: kv === undefined ? env : { ...env, openKv: async () => kv } };
  const { running, config, ca, token } = await startServer(parts).catch(async (thrown: unknown) => {
    await kv?.close();
    throw thrown;
  });
  stopOnSignals({ what: "the server", stop: () => running.stop(), onStopping: () => print("Stopping.") });
  const url = `https://${hostInUrl(flags.bindAddress)}:${running.port}`;
  const kubeconfig = writeKubeconfig(directory, { server: url, ca, token });
  announce({ url, kubeconfig, config, directory });
  await running.server.ready;
  print("Ready.");
}

/** Reports what the server does not do, once for each reason. */
function warnOfFlags({ log }: Env, flags: AllFlags, { withoutEffect }: FlagFindings): void {
  const { authorizationMode } = flags;
  for (const [because, those] of withoutEffect) log.warn("flags without effect", { flags: those, because });
  const clear = etcdServersInClear(flags);
  if (clear.length > 0)
    log.warn("the certificate flags of etcd have no effect for http:// URLs: this traffic is not encrypted", {
      etcdServers: clear,
    });
  if (authorizationMode?.includes("Node") === true)
    log.warn("the authorization mode Node allows nothing: kubelets have only the permissions that RBAC grants");
}

/** As klog: informational messages of the verbosities 2 and 3 are for operators, those from 4 on for debugging. */
function logLevelOf(verbosity: number): LogLevel {
  return verbosity >= 4 ? "debug" : verbosity >= 2 ? "info" : "warn";
}

interface StartParts {
  readonly flags: AllFlags;
  /** The configuration without the credentials in the data directory. */
  readonly checked: ServerConfig;
  readonly directory: string;
  readonly named: NamedFiles;
  readonly env: Env;
}

interface Started {
  readonly running: ListeningServer;
  readonly config: ServerConfig;
  /** The CA of the server's certificate and the first user's token, for the kubeconfig. */
  readonly ca: string;
  readonly token: string;
}

async function startServer({ flags, checked, directory, named, env }: StartParts): Promise<Started> {
  const inDirectory = <T>(work: () => T): T => asUsable(work, unusable(directory));
  const tokenFile = named.tokens ?? inDirectory(() => ensureTokenFile(directory).text);
  const serviceAccountKey = usesGeneratedKey(flags) ? inDirectory(() => ensureServiceAccountKey(directory)) : undefined;
  const addresses = servingAddresses(flags, checked);
  const files = certDirFiles(flags);
  const credentials =
    named.credentials ??
    (files === undefined
      ? inDirectory(() => servingCredentials(directory, addresses))
      : asUsable(
          () => createKeyPairFiles(files, addresses),
          `the certificate directory ${flags.certDir} cannot be used`,
        ));
  const { followed, rootCa = credentials.ca } = named;
  const config = asCommand(() =>
    withStoredCredentials(checked, {
      tokenFile,
      serviceAccounts: serviceAccountsOf(flags, serviceAccountKey),
      rootCa,
      authorities: followed.authorities,
    }),
  );
  const running = await startWithClearErrors(
    () =>
      startListening(env, config, {
        host: flags.bindAddress,
        port: flags.securePort,
        cert: credentials.cert,
        key: credentials.key,
        certificate: followed.certificate,
        named: followed.named,
        ...listenOptionsOf(flags),
      }),
    flags,
  );
  void followed.follow(env.clock, new AbortController().signal);
  if (config.storage.kind === "etcd" && serviceAccountKey !== undefined)
    env.log.warn(
      "service account tokens are signed with a key of this server; set --service-account-signing-key-file to the same key on all servers of this etcd",
      { file: serviceAccountKey.file },
    );
  return { running, config, ca: credentials.ca, token: firstToken(tokenFile) };
}

/**
 * The host in the URL for clients. They cannot connect to an unspecified address such as 0.0.0.0, so it is replaced by
 * the loopback address.
 */
function hostInUrl(bindAddress: string): string {
  if (bindAddress === "0.0.0.0") return "127.0.0.1";
  if (bindAddress === "::") return "[::1]";
  return bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
}

/**
 * The addresses that the certificate must contain: clients use the bind address, the advertised address, or (from pods)
 * the address of the Service.
 */
function servingAddresses({ bindAddress }: ServeFlags, { published, serviceClusterIpRanges }: ServerConfig): string[] {
  return [bindAddress, published?.address, serviceClusterIpRanges[0].nameAt(0)].filter((one) => one !== undefined);
}

function unusable(directory: string): string {
  return `the data directory ${directory} cannot be used`;
}

function announce(what: { url: string; kubeconfig: string; config: ServerConfig; directory: string }): void {
  const { storage, release, version } = what.config;
  const as = version.binary === release ? release : `${version.binary}, emulating ${release},`;
  print(`Serving Kubernetes ${as} at ${what.url}`);
  print(`  kubectl:  export KUBECONFIG=${what.kubeconfig}`);
  print(
    `  objects:  ${storage.kind === "etcd" ? `in etcd at ${storage.endpoints.join(", ")}` : `in ${what.directory}`}`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
