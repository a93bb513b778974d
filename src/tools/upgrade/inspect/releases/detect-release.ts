/**
 * Finds out from the stored data which release its API servers have, and with which flags they run, so that users need
 * not know it. Each fact becomes a sentence of the report.
 */
import { isReleaseName, RELEASES, type ReleaseName } from "../../../../objects/catalog/release.ts";
import { parseYaml, YamlError } from "../../../../objects/yaml/yaml.ts";
import { isJsonObject, objectAt, stringAt, statusOf, type JsonObject } from "../../../../meta/json.ts";
import type { SpecialObjects } from "../collect/special-objects.ts";
import type { ApiServerState, FoundRelease } from "../inspection.ts";
import { apiServerOf, flagValues } from "./api-server-pods.ts";
import { releasesServing, runtimeConfigFor, servedGroupVersions } from "./served-group-versions.ts";

export interface DetectedRelease extends FoundRelease {
  /** The release of the code, if the servers emulate an older one. */
  readonly binary: ReleaseName | undefined;
  /** The entries of --runtime-config: those of the servers, or those that explain what they serve. */
  readonly servingConfig: readonly string[];
  /** The built-in group versions that the servers have registered; undefined if the data does not show them. */
  readonly served: ReadonlySet<string> | undefined;
}

/** A server of k3s contains the API server and the kubelet, so both have the same release. */
const K3S = "+k3s";
const VERSION = /^v?(1\.\d{1,3})(?:[.+-]|$)/;

export function detectRelease(special: SpecialObjects, given: ReleaseName | undefined): DetectedRelease {
  const servers = special.apiServerPods.flatMap((pod) => apiServerOf(pod) ?? []);
  const behaviors = servers.flatMap((server) => behaviorOf(server) ?? []);
  const kubeadm = kubeadmVersion(special.kubeadmConfigs);
  const kubelets = special.nodes.map(kubeletVersion);
  const atLeast = newest(releasesOf(kubelets));
  const served = servedGroupVersions(special.apiServices);
  const serving = served === undefined ? [] : releasesServing(served).filter((name) => !isOlder(name, atLeast));
  const found =
    oldest(behaviors.map((one) => one.release)) ??
    releaseOf(kubeadm) ??
    newest(releasesOf(kubelets.filter((version) => version.includes(K3S)))) ??
    (serving.length === 1 ? serving[0] : undefined);
  const release = given ?? found;
  const flags = flagsOf(servers);
  return {
    ...(release === undefined ? {} : { release }),
    origin: given !== undefined ? "given" : found !== undefined ? "found" : "unknown",
    evidence: [
      ...doubtsAbout(given, found ?? serving),
      ...serverEvidence(servers, behaviors),
      ...(kubeadm === undefined ? [] : [`ConfigMap kube-system/kubeadm-config has the kubernetesVersion ${kubeadm}`]),
      ...(atLeast === undefined
        ? []
        : [`The newest kubelet is ${atLeast}, and API servers are not older than kubelets`]),
      ...servingEvidence(serving),
      ...leaseEvidence(special.identityLeases.length),
    ],
    candidates: release === undefined ? serving : [],
    ...(atLeast === undefined ? {} : { atLeast }),
    servers,
    ...flags,
    areFlagsKnown: servers.length > 0,
    binary: behaviors.find((one) => one.release === release && one.binary !== release)?.binary,
    served,
    servingConfig: servingConfigOf(flags.runtimeConfig, { servers, served, release: fitting(release, serving) }),
  };
}

type Flags = Pick<FoundRelease, "runtimeConfig" | "featureGates" | "emulatedVersion">;

function flagsOf(servers: readonly ApiServerState[]): Flags {
  const flags = servers.flatMap((server) => server.flags);
  const [emulatedVersion] = flagValues(flags, "--emulated-version");
  return {
    runtimeConfig: [...new Set(flagValues(flags, "--runtime-config"))],
    featureGates: [...new Set(flagValues(flags, "--feature-gates"))],
    ...(emulatedVersion === undefined ? {} : { emulatedVersion }),
  };
}

function servingConfigOf(
  runtimeConfig: readonly string[],
  {
    servers,
    served,
    release,
  }: Pick<DetectedRelease, "servers" | "served"> & { readonly release: ReleaseName | undefined },
): readonly string[] {
  if (servers.length > 0) return runtimeConfig;
  return served === undefined || release === undefined ? [] : runtimeConfigFor(served, release);
}

function serverEvidence(servers: readonly ApiServerState[], behaviors: readonly Behavior[]): string[] {
  const releases = new Set(behaviors.map(({ release }) => release));
  return [
    ...servers.map((server) => `${server.name} runs ${server.image ?? "an unknown image"}${flagsText(server)}`),
    ...(releases.size > 1 ? ["The API servers have different releases; the oldest one counts"] : []),
  ];
}

/** The release part of a version such as "v1.33.4+k3s1"; undefined if this program does not know the release. */
export function releaseOf(version: string | undefined): ReleaseName | undefined {
  const name = VERSION.exec(version ?? "")?.[1];
  return name !== undefined && isReleaseName(name) ? name : undefined;
}

function isOlder(release: ReleaseName, other: ReleaseName | undefined): boolean {
  return other !== undefined && RELEASES.indexOf(release) < RELEASES.indexOf(other);
}

export function kubeletVersion(node: JsonObject): string {
  return stringAt(objectAt(statusOf(node), "nodeInfo"), "kubeletVersion");
}

interface Behavior {
  readonly release: ReleaseName;
  /** The release of the code. */
  readonly binary: ReleaseName;
}

function behaviorOf(server: ApiServerState): Behavior | undefined {
  const binary = releaseOf(server.version);
  if (binary === undefined) return undefined;
  const emulated = flagValues(server.flags, "--emulated-version")
    .at(-1)
    ?.replace(/^kube=/, "");
  return { release: releaseOf(emulated) ?? binary, binary };
}

function flagsText({ flags }: ApiServerState): string {
  return flags.length === 0 ? "" : ` with ${flags.join(" ")}`;
}

/** The registered group versions say nothing about the flags of a release that cannot have registered them. */
function fitting(release: ReleaseName | undefined, serving: readonly ReleaseName[]): ReleaseName | undefined {
  return release !== undefined && serving.includes(release) ? release : undefined;
}

function doubtsAbout(given: ReleaseName | undefined, shown: ReleaseName | readonly ReleaseName[]): string[] {
  const releases = typeof shown === "string" ? [shown] : shown;
  if (given === undefined || releases.length === 0 || releases.includes(given)) return [];
  return [`--from is ${given}, but the data shows ${releases.join(" or ")}`];
}

function servingEvidence(serving: readonly ReleaseName[]): string[] {
  if (serving.length === 0) return [];
  return [
    `The APIServices of the servers fit ${serving.length === 1 ? "only Kubernetes" : "Kubernetes"} ${serving.join(", ")}`,
  ];
}

function leaseEvidence(leases: number): string[] {
  return leases === 0 ? [] : [`There are identity leases of ${leases} kube-apiserver${leases === 1 ? "" : "s"}`];
}

function kubeadmVersion([config]: readonly JsonObject[]): string | undefined {
  if (config === undefined) return undefined;
  const text = stringAt(objectAt(config, "data"), "ClusterConfiguration");
  try {
    const { value } = parseYaml(text);
    const version = isJsonObject(value) ? stringAt(value, "kubernetesVersion") : "";
    return VERSION.test(version) ? version.slice(0, 64) : undefined;
  } catch (thrown) {
    if (thrown instanceof YamlError) return undefined;
    throw thrown;
  }
}

function releasesOf(versions: readonly string[]): ReleaseName[] {
  return versions.flatMap((version) => releaseOf(version) ?? []);
}

function oldest(releases: readonly ReleaseName[]): ReleaseName | undefined {
  return RELEASES.find((release) => releases.includes(release));
}

function newest(releases: readonly ReleaseName[]): ReleaseName | undefined {
  return RELEASES.findLast((release) => releases.includes(release));
}
