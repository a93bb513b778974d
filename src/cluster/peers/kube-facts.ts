/**
 * Reads from a kube-apiserver what it does not publish in the store: its release, and whether it proxies requests to
 * its peers. Without the release, no server knows which records and which stored versions the kube-apiserver can read.
 */
import { isJsonObject, stringAt } from "../../meta/json.ts";
import type { WholeResponse } from "../../serving/http/own-request.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { RequestPeer } from "./request-peer.ts";

export interface KubeVersion {
  /** The release as which the server behaves: the emulated release, or that of the binary. */
  readonly release: string;
  /** The release of the binary, such as "1.36". */
  readonly binary: string;
  /** The release that must be able to decode everything that the server writes; undefined if it reports none. */
  readonly minCompatibility: string | undefined;
  /** Such as "1.36.4". */
  readonly binaryVersion: string;
}

export interface KubeFacts {
  /** Undefined if the server rejects requests for /version, or its response is not valid. */
  readonly version: KubeVersion | undefined;
  /** Whether the server proxies requests to its peers; undefined if it does not report its checks. */
  readonly proxiesToPeers: boolean | undefined;
}

interface FactsOptions {
  readonly ask: RequestPeer;
  readonly address: UpstreamAddress;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const BYTES_MAX = 64 * 1024;
const VERSION_TARGET = "/version";
const CHECKS_TARGET = "/readyz?verbose";
const HOOK = "poststarthook/";
/** A kube-apiserver has this check if its mixed version proxy is enabled and --peer-ca-file is set. */
const PROXY_CHECK = `${HOOK}mixed-version-proxy-handler`;
/** The git version is written to logs and reports. */
const BINARY_VERSION = /^v?(1\.\d{1,3}\.[0-9A-Za-z.+-]{1,100})$/;

/** Throws if the server cannot be reached. */
export async function fetchKubeFacts({ ask, address, timeoutMs, signal }: FactsOptions): Promise<KubeFacts> {
  const get = (target: string): Promise<WholeResponse> =>
    ask({ address, timeoutMs, signal, target, bytesMax: BYTES_MAX });
  const [version, checks] = await Promise.all([
    get(VERSION_TARGET),
    // The checks of a server whose etcd is slow may take longer than the timeout.
    get(CHECKS_TARGET).catch(() => undefined),
  ]);
  return {
    version: version.status === 200 ? versionIn(version.body) : undefined,
    proxiesToPeers: checks && proxiesIn(checks.body.toString("utf8")),
  };
}

function versionIn(body: Buffer): KubeVersion | undefined {
  const document = parsed(body);
  if (!isJsonObject(document)) return undefined;
  const release = (prefix: string): string | undefined => {
    const [major, minor] = prefix === "" ? ["major", "minor"] : [`${prefix}Major`, `${prefix}Minor`];
    // Some providers append a plus sign to the minor version.
    const text = `${stringAt(document, major)}.${stringAt(document, minor).replace(/\+$/, "")}`;
    return /^1\.\d{1,3}$/.test(text) ? text : undefined;
  };
  const binary = release("");
  const [, binaryVersion] = BINARY_VERSION.exec(stringAt(document, "gitVersion")) ?? [];
  if (binary === undefined || binaryVersion === undefined) return undefined;
  return {
    release: release("emulation") ?? binary,
    binary,
    minCompatibility: release("minCompatibility"),
    binaryVersion,
  };
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The verbose response lists every check, also if some of them fail. */
function proxiesIn(checks: string): boolean | undefined {
  return checks.includes(HOOK) ? checks.includes(PROXY_CHECK) : undefined;
}
