/** The check of --etcd-servers that `serve` and `up` share. */
import { CommandFailure } from "./failure.ts";

/** Fails for an empty list: a script whose variable is not set must not start a server on an empty embedded store. */
export function requireSome(etcdServers: readonly string[]): void {
  if (etcdServers.length === 0)
    throw new CommandFailure("--etcd-servers is empty: name the etcd servers, or omit the flag", 2);
}
