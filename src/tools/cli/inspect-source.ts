/** Opens the stored data that the flags of `evenkeel inspect` name: a file, or a live etcd. */
import type { Clock } from "../../base/clock.ts";
import { EXIT_NO_RESULT } from "../upgrade/finding.ts";
import { openLiveEtcd } from "../upgrade/sources/etcd-live.ts";
import { findPrefixes } from "../upgrade/sources/find-prefixes.ts";
import { openStoredDataFile } from "../upgrade/sources/open-file.ts";
import type { StoredData, WalkRequest } from "../upgrade/stored-data.ts";
import { requireSome } from "./etcd-servers.ts";
import { CommandFailure } from "./failure.ts";
import type { InspectFlags } from "./inspect-flags.ts";
import { checkKeyPair, readCertificates } from "./read-file.ts";

const PREFIXES_SHOWN = 10;

interface OpenOptions extends Pick<WalkRequest, "signal" | "onProgress"> {
  readonly clock: Clock;
}

export function openSource(flags: InspectFlags, options: OpenOptions): Promise<StoredData> {
  if (flags.etcdSnapshot !== undefined) return openStoredDataFile(flags.etcdSnapshot, options);
  const { etcdServers = [], etcdCafile } = flags;
  requireSome(etcdServers);
  const pair = checkKeyPair("etcd client", {
    "--etcd-certfile": flags.etcdCertfile,
    "--etcd-keyfile": flags.etcdKeyfile,
  });
  const tls = {
    ...(etcdCafile !== undefined && { ca: Buffer.from(readCertificates(etcdCafile, "etcd CA (--etcd-cafile)")) }),
    ...(pair !== undefined && { cert: Buffer.from(pair.cert), key: Buffer.from(pair.key) }),
  };
  return openLiveEtcd({ endpoints: etcdServers, tls, clock: options.clock });
}

/** The failure of an inspection that found no key under the prefix. It names the prefixes that exist. */
export async function nothingFound(
  data: StoredData,
  prefix: string,
  request: Omit<WalkRequest, "prefix">,
): Promise<CommandFailure> {
  const { ofClusters, ofKeys } = await findPrefixes(data, request);
  return new CommandFailure(
    `${data.source} has no keys under ${prefix}: ${adviceOn(ofClusters, ofKeys)}`,
    EXIT_NO_RESULT,
  );
}

function adviceOn(ofClusters: readonly string[], ofKeys: readonly string[]): string {
  if (ofKeys.length === 0) return "it is empty, so it is not the data of a cluster";
  const [likely] = ofClusters;
  if (likely !== undefined) return `use --etcd-prefix ${ofClusters.join(" or --etcd-prefix ")}`;
  return `it is not the data of a cluster; its keys begin with ${ofKeys.slice(0, PREFIXES_SHOWN).join(", ")}`;
}
