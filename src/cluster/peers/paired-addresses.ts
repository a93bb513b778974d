/**
 * Decides at which masterlease's IP address a server is called that writes no endpoint record, such as a kube-apiserver
 * before release 1.36. Neither the masterlease nor the identity lease names the other. So with several such servers the
 * pairs are a guess; every address is in one pair, so every server is called, perhaps under the ID of another one.
 */

/** IP addresses by server ID. A pair stays as it is while both of its parts exist. The first IDs are paired first. */
export function pairAddresses(
  ids: readonly string[],
  ips: readonly string[],
  before: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (const id of ids) {
    const ip = before.get(id);
    if (ip !== undefined && ips.includes(ip)) pairs.set(id, ip);
  }
  const taken = new Set(pairs.values());
  const free = ips.filter((ip) => !taken.has(ip)).sort();
  for (const id of ids.filter((one) => !pairs.has(one))) {
    const ip = free.shift();
    if (ip === undefined) break;
    pairs.set(id, ip);
  }
  return pairs;
}
