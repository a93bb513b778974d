/** The flags of `evenkeel up`, and the server specs that they define. */
import type { LogLevel } from "../../../server/env-node.ts";
import { accessOptionsOf, type AccessFlags } from "../access-flags.ts";
import { CommandFailure } from "../failure.ts";
import { routingOptionsOf, type RoutingFlags } from "../peer-flags.ts";
import type { ClusterState } from "./cluster-files.ts";
import { storageOf } from "./cluster-store.ts";
import { DEFAULT_SERVERS, parseServerSpec, type CommonOptions, type ServerSpec } from "./server-spec.ts";

export interface UpFlags extends RoutingFlags, AccessFlags {
  readonly servers?: readonly string[];
  readonly dataDir: string;
  readonly port?: number;
  /** The address on which the load balancer listens. */
  readonly bindAddress: string;
  readonly etcdServers?: readonly string[];
  readonly processes?: boolean;
  readonly featureGates?: readonly string[];
  readonly controllers?: readonly string[];
  readonly json?: boolean;
  readonly logLevel: LogLevel;
}

const SERVERS_MAX = 32;

export function commonOf(flags: UpFlags): CommonOptions {
  const { featureGates = [], controllers = ["auto"] } = flags;
  return { featureGates, controllers, access: accessOptionsOf(flags), peers: routingOptionsOf(flags) };
}

export function specsOf(flags: UpFlags, kept: ClusterState | undefined): ServerSpec[] {
  const texts = flags.servers ?? kept?.servers.map(({ spec }) => spec) ?? DEFAULT_SERVERS.split(",");
  if (texts.length === 0) throw new CommandFailure("--servers must name at least one server", 2);
  if (texts.length > SERVERS_MAX) throw new CommandFailure(`--servers may name at most ${SERVERS_MAX} servers`, 2);
  return texts.map((text) => parseServerSpec(text, { ...commonOf(flags), storage: storageOf(flags, "") }));
}
