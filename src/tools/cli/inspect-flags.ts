/** The flags of `evenkeel inspect`, and the checks that need no file and no network. */
import { InvalidArgumentError, type Command } from "commander";
import { isReleaseName, RELEASES, type ReleaseName } from "../../objects/catalog/release.ts";
import { CommandFailure } from "./failure.ts";
import { withFindingFlags, type FindingFlags } from "./finding-flags.ts";
import { commaList } from "./flags.ts";

export interface InspectFlags extends FindingFlags {
  readonly etcdSnapshot?: string;
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdPrefix: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly token?: string;
  readonly caFile?: string;
  readonly encryptionProviderConfig?: string;
  readonly from?: ReleaseName;
  readonly to?: readonly ReleaseName[];
  readonly unreadable?: boolean;
  readonly details?: boolean;
  readonly html?: string;
}

const USAGE = 2;

/** The flags that make sense only with one of the sources. */
const FLAGS_OF_SOURCE: Readonly<Record<Source, readonly (keyof InspectFlags)[]>> = {
  etcdSnapshot: [],
  etcdServers: ["etcdCafile", "etcdCertfile", "etcdKeyfile"],
  kubeconfig: ["context", "token", "caFile"],
};
type Source = "etcdSnapshot" | "etcdServers" | "kubeconfig";
const SOURCES: readonly Source[] = ["etcdSnapshot", "etcdServers", "kubeconfig"];
/** The flags that make sense only if stored values are read. */
const FLAGS_OF_VALUES: readonly (keyof InspectFlags)[] = ["encryptionProviderConfig", "unreadable"];

export function withInspectFlags(command: Command): Command {
  const own = command
    .option("--etcd-snapshot <file>", "etcd snapshot, also gzipped; member/snap/db of etcd; or the database of k3s")
    .option("--etcd-servers <urls>", "etcd URLs; read a live etcd", commaList)
    .option("--etcd-cafile <file>", "CA bundle that verifies etcd's certificate")
    .option("--etcd-certfile <file>", "client certificate for etcd")
    .option("--etcd-keyfile <file>", "key of the client certificate for etcd")
    .option("--etcd-prefix <prefix>", "prefix of all keys, as given to kube-apiserver", prefix, "/registry")
    .option("--kubeconfig <file>", "kubeconfig; read only what the API shows, also of a managed cluster")
    .option("--context <name>", "context of the kubeconfig")
    .option("--token <token>", "bearer token, instead of the kubeconfig's user")
    .option("--ca-file <file>", "CA bundle that verifies the server's certificate, instead of the kubeconfig's")
    .option("--encryption-provider-config <file>", "configuration of encryption at rest, to read encrypted values")
    .option("--from <release>", "current release of the cluster (default: found in the data)", release)
    .option("--to <releases>", "target releases (default: the minor release after --from)", releases)
    .option("--unreadable", "list the values that cannot be read, with their keys")
    .option("--details", "show the reason and the fix of every finding")
    .option("--html <file>", "also write the report as one HTML page");
  return withFindingFlags(own);
}

/** Returns the one source that the flags name. */
export function dataSourceOf(flags: InspectFlags): Source {
  const given = SOURCES.filter((source) => flags[source] !== undefined);
  const [source] = given;
  const named = SOURCES.map(flagName).join(", ");
  if (source === undefined) throw new CommandFailure(`nothing to inspect: give one of ${named}`, USAGE);
  if (given.length > 1)
    throw new CommandFailure(`${given.map(flagName).join(" and ")} are given: give only one of ${named}`, USAGE);
  for (const other of SOURCES.filter((one) => one !== source)) rejectFlags(flags, FLAGS_OF_SOURCE[other], other);
  if (source === "kubeconfig") {
    const [first] = FLAGS_OF_VALUES.filter((flag) => flags[flag] !== undefined);
    if (first !== undefined)
      throw new CommandFailure(
        `${flagName(first)} needs stored values, which the API does not show: use --etcd-snapshot or --etcd-servers`,
        USAGE,
      );
  }
  return source;
}

/** Rejects a downgrade, for which the advice of the findings, such as "rewrite before that hop", would be wrong. */
export function requireNewerTargets({ to = [] }: InspectFlags, current: ReleaseName | undefined): void {
  const target = RELEASES.findLast((one) => to.includes(one));
  if (target === undefined || current === undefined || RELEASES.indexOf(target) >= RELEASES.indexOf(current)) return;
  throw new CommandFailure(
    `--to ${target} is older than the current release ${current}, and inspect reports on upgrades only; ` +
      `to see what ${target} cannot read after a rollback, use --from ${target} --to ${current}`,
    USAGE,
  );
}

function rejectFlags(flags: InspectFlags, unused: readonly (keyof InspectFlags)[], source: Source): void {
  const given = unused.filter((flag) => flags[flag] !== undefined);
  if (given.length > 0)
    throw new CommandFailure(`${given.map(flagName).join(", ")}: set ${flagName(source)}, too`, USAGE);
}

function flagName(option: string): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** As kube-apiserver, which accepts the prefix with and without slashes. */
function prefix(text: string): string {
  const trimmed = text.replace(/^\/+|\/+$/g, "");
  if (trimmed === "") throw new InvalidArgumentError("It must not be empty: kube-apiserver's default is /registry.");
  return `/${trimmed}`;
}

/** Accepts also "v1.36" and a patch release. */
function release(text: string): ReleaseName {
  const [, minor = text] = /^v?(1\.[0-9]{1,3})(?:\.[0-9].*)?$/.exec(text) ?? [];
  if (!isReleaseName(minor))
    throw new InvalidArgumentError(`${JSON.stringify(text)} is not one of ${RELEASES.join(", ")}.`);
  return minor;
}

function releases(text: string, before: readonly ReleaseName[] | undefined): ReleaseName[] {
  return [...(before ?? []), ...commaList(text, []).map(release)];
}
