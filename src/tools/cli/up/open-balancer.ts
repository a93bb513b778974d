/**
 * Opens the load balancer on the port of the flag. Without the flag, uses the port of the last run, or 6443 for a new
 * cluster; if that port cannot be opened, any free port.
 */
import { CommandFailure } from "../failure.ts";
import type { ClusterState } from "./cluster-files.ts";
import { openLoadBalancer, type LoadBalancer, type LoadBalancerOptions } from "./load-balancer.ts";

export const DEFAULT_PORT = 6443;

/** Fails if the port of the flag cannot be opened. Other ports are only preferences. */
export async function openBalancer(
  options: Omit<LoadBalancerOptions, "port">,
  requestedPort: number | undefined,
  kept: ClusterState | undefined,
): Promise<LoadBalancer> {
  const isRequested = requestedPort !== undefined && requestedPort !== 0;
  try {
    return await openLoadBalancer({
      ...options,
      port: isRequested ? requestedPort : (kept?.port ?? requestedPort ?? DEFAULT_PORT),
    });
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const { host } = options;
    if (code === "EADDRNOTAVAIL")
      throw new CommandFailure(`${host} is not an address of this machine: choose another with --bind-address`, 1);
    if (!isRequested) return openLoadBalancer({ ...options, port: 0 });
    if (code === "EADDRINUSE")
      throw new CommandFailure(`port ${requestedPort} on ${host} is already in use: choose another with --port`, 1);
    throw new CommandFailure(`port ${requestedPort} on ${host} cannot be used: ${message}`, 1);
  }
}
