/**
 * Finds the kube-apiservers that the tests start beside Evenkeel. KUBEBUILDER_ASSETS names the directory of the
 * binaries, as for envtest; several directories, one for each release, are separated by colons.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { namespacesMissing } from "../cluster/network-namespace.ts";

export interface RealBinary {
  readonly path: string;
  /** Such as "1.36". */
  readonly release: string;
}

/** The first release that the suite supports. */
const MINOR_MIN = 31;
/** The first release whose proxy publishes endpoint records by default. */
const PROXY_MINOR_MIN = 36;

const directories = (process.env["KUBEBUILDER_ASSETS"] ?? "").split(delimiter).filter((path) => path !== "");

/** The kube-apiservers of all directories, in their order. */
export const REAL_BINARIES: readonly RealBinary[] = directories.flatMap(binaryIn);

function binaryIn(directory: string): RealBinary[] {
  const path = join(directory, "kube-apiserver");
  if (!existsSync(path)) return [];
  const printed = execFileSync(path, ["--version"], { encoding: "utf8" });
  const [, minor = "0"] = /v1\.(\d+)\./.exec(printed) ?? [];
  return Number(minor) < MINOR_MIN ? [] : [{ path, release: `1.${minor}` }];
}

/** Stands for a kube-apiserver that is not given, so that its tests are reported as skipped. */
const NO_BINARY: RealBinary = { path: "", release: "" };

/** All kube-apiservers; one that is not given if there is none. */
export const BINARIES = orNone(REAL_BINARIES);
/** The kube-apiservers whose mixed version proxy is on by default. */
export const PROXYING = orNone(REAL_BINARIES.filter(({ release }) => minorOf(release) >= PROXY_MINOR_MIN));
/** The kube-apiservers that write no endpoint record by default. */
export const OLDER = orNone(REAL_BINARIES.filter(({ release }) => minorOf(release) < PROXY_MINOR_MIN));

function orNone(binaries: readonly RealBinary[]): readonly RealBinary[] {
  return binaries.length > 0 ? binaries : [NO_BINARY];
}

export function minorOf(release: string): number {
  return Number(release.split(".")[1]);
}

/** Prints in one line why the tests are skipped; undefined if they can run. */
export function whySkipped(binary: RealBinary | undefined, wanted: string): string | undefined {
  const isMissing = binary === undefined || binary === NO_BINARY;
  const why = isMissing ? `KUBEBUILDER_ASSETS holds no kube-apiserver ${wanted}` : otherwiseMissing();
  if (why !== undefined) console.warn(`tests beside a real kube-apiserver were skipped: ${why}`);
  return why;
}

function otherwiseMissing(): string | undefined {
  const withEtcd = directories.find((directory) => existsSync(join(directory, "etcd")));
  if (withEtcd !== undefined) process.env["PATH"] = `${withEtcd}${delimiter}${process.env["PATH"] ?? ""}`;
  return namespacesMissing() ?? (hasEtcd() ? undefined : ETCD_MISSING);
}

export const WITH_PROXY = `1.${PROXY_MINOR_MIN} or newer`;
