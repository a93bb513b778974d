/** Executes the commands that a running cluster receives on its control socket. */
import { CommandFailure } from "../failure.ts";
import { FAULTS, type LocalCluster, type ServerInfo } from "./cluster.ts";
import type { ControlHandler, ControlRequest } from "./control.ts";
import { serverJson } from "./summary.ts";

export function controlHandler(cluster: LocalCluster): ControlHandler {
  return async (request) => {
    if (request.command === "status")
      return { pid: process.pid, loadBalancer: cluster.balancerUrl, servers: cluster.servers().map(serverJson) };
    return serverJson(await perform(cluster, request));
  };
}

function perform(cluster: LocalCluster, request: ControlRequest): Promise<ServerInfo> {
  const { command, id = "", spec = "", fault = "", force = false } = request;
  switch (command) {
    case "add-server":
      return cluster.add(spec);
    case "remove-server":
      return cluster.remove(id);
    case "upgrade":
      return cluster.upgrade(id, spec, { force });
    case "fault": {
      const known = FAULTS.find((candidate) => candidate === fault);
      if (known === undefined)
        throw new CommandFailure(`the fault must be one of ${FAULTS.join(", ")}, not ${JSON.stringify(fault)}`, 2);
      return cluster.fault(known, id);
    }
    default:
      throw new CommandFailure(`unknown command ${JSON.stringify(command)}`, 2);
  }
}
