/** The ranges of the ServiceCIDR objects, from which cluster IPs are allocated while the object is ready. */
import { stringAt, stringsAt, objectAt, objectsAt, specOf } from "../../meta/json.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { parseIpRange, prefixLengthOf, type IpRange } from "./ip-range.ts";

export interface ServiceCidrRange {
  readonly range: IpRange;
  readonly isReady: boolean;
}

/** As kubernetes: nothing is allocated from a larger IPv6 subnet. */
const IPV6_PREFIX_MIN = 64;

/** Returns undefined if no ServiceCIDR of the family exists: the configured range is then used. */
export function serviceCidrsOf(
  cache: WatchCache,
  prefix: string,
  family: IpFamily,
): readonly ServiceCidrRange[] | undefined {
  const all = cache
    .range(prefix, prefixEnd(prefix))
    .flatMap(rangesOf)
    .filter(({ range }) => range.family === family);
  return all.length === 0 ? undefined : all;
}

/** Several ServiceCIDRs may contain the same range, which is ready if one of them is. */
export function readyRanges(all: readonly ServiceCidrRange[]): readonly IpRange[] {
  const byText = new Map(all.filter(({ isReady }) => isReady).map(({ range }) => [range.text, range]));
  return [...byText.values()];
}

function rangesOf(entry: Entry): readonly ServiceCidrRange[] {
  if (entry.corrupt !== undefined) return [];
  const known = entry.memo.get("cidrs") as readonly ServiceCidrRange[] | undefined;
  if (known !== undefined) return known;
  const object = parseEntry(entry);
  const ready = objectsAt(objectAt(object, "status"), "conditions").find(({ type }) => type === "Ready");
  const isDeleted = objectAt(object, "metadata")["deletionTimestamp"] !== undefined;
  // As kubernetes: a ServiceCIDR without the condition is ready, because kube-controller-manager may not run.
  const isReady = !isDeleted && (ready === undefined || stringAt(ready, "status") === "True");
  const cidrs = stringsAt(specOf(object), "cidrs").flatMap((text) => {
    try {
      const range = parseIpRange(text);
      return [{ range, isReady: isReady && isAllocatable(range) }];
    } catch {
      return [];
    }
  });
  entry.memo.set("cidrs", cidrs);
  return cidrs;
}

function isAllocatable({ family, text }: IpRange): boolean {
  return family === "IPv4" || prefixLengthOf(text) >= IPV6_PREFIX_MIN;
}
