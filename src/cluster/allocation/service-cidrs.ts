/** The ranges of the ServiceCIDR objects from which cluster IPs may be allocated. */
import { stringAt, stringsAt, objectAt, objectsAt, specOf } from "../../meta/json.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { parseIpRange, type IpRange } from "./ip-range.ts";

/** Returns undefined if no ServiceCIDR of the family exists: the configured range is then used. */
export function readyServiceCidrs(cache: WatchCache, prefix: string, family: IpFamily): readonly IpRange[] | undefined {
  const all = cache
    .range(prefix, prefixEnd(prefix))
    .flatMap(cidrsOf)
    .filter(({ range }) => range.family === family);
  if (all.length === 0) return undefined;
  const byText = new Map(all.filter(({ isReady }) => isReady).map(({ range }) => [range.text, range]));
  return [...byText.values()];
}

interface CidrOfEntry {
  readonly range: IpRange;
  readonly isReady: boolean;
}

function cidrsOf(entry: Entry): readonly CidrOfEntry[] {
  if (entry.corrupt !== undefined) return [];
  const known = entry.memo.get("cidrs") as readonly CidrOfEntry[] | undefined;
  if (known !== undefined) return known;
  const object = parseEntry(entry);
  const ready = objectsAt(objectAt(object, "status"), "conditions").find(({ type }) => type === "Ready");
  const isDeleted = objectAt(object, "metadata")["deletionTimestamp"] !== undefined;
  // As kubernetes: a ServiceCIDR without the condition is ready, because kube-controller-manager may not run.
  const isReady = !isDeleted && (ready === undefined || stringAt(ready, "status") === "True");
  const cidrs = stringsAt(specOf(object), "cidrs").flatMap((text) => {
    try {
      return [{ range: parseIpRange(text), isReady }];
    } catch {
      return [];
    }
  });
  entry.memo.set("cidrs", cidrs);
  return cidrs;
}
