/** Planted bugs, one for each checker, in an otherwise correct cluster. */
import { bytesBody, type ApiResponse } from "../../src/serving/http/message.ts";
import { LOOP_GUARDS } from "../../src/serving/http/proxy-headers.ts";
import { jsonResponse } from "../../src/serving/http/respond.ts";
import type { UpstreamRequest } from "../../src/serving/http/upstream.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { headerOf } from "../../src/tools/simulator/network.ts";
import type { Handle } from "../../src/tools/simulator/server.ts";

const PORT = 6443;

/** Replaces responses of peers by a 404. */
export function forgetsPeers(): Plant {
  return everywhere((handle) => async (request) => {
    const response = await handle(request);
    if (response.headers["x-evenkeel-served-by"] === undefined) return response;
    return jsonResponse(404, { kind: "Status", message: "the server could not find the requested resource" });
  });
}

/** Removes the loop guard of proxied requests and sends them to a third server. */
export function losesGuard(): Plant {
  return misroute((from, to) => [1, 2, 3].map(ipOf).find((ip) => ip !== from && ip !== to)!);
}

/** Removes the loop guard of proxied requests and sends them back. */
export function sendsInCircles(): Plant {
  return misroute((from) => from);
}

export function deletesTwice(): Plant {
  return everywhere((handle) => async (request) => {
    if (request.method !== "DELETE") return handle(request);
    const copy = { ...request };
    await handle(request);
    return handle(copy);
  });
}

/** Acknowledges creations that are not stored. */
export function forgetsWrites(): Plant {
  return everywhere(
    (handle) => (request) => handle(request.method === "POST" ? { ...request, rawQuery: "dryRun=All" } : request),
  );
}

export function staysUnready(): Plant {
  return inFirst("/readyz", () => jsonResponse(500, {}));
}

export function leavesOneOut(): Plant {
  return inFirst("/api", (response) => rewritten(response, "configmaps", "config-maps"));
}

export function rejectsLists(): Plant {
  return inFirst("/api/v1/configmaps", () => jsonResponse(503, {}));
}

export function changesDiscovery(): Plant {
  return inFirst("/api/v1", (response) => rewritten(response, "ConfigMap", "ConfigFile"));
}

function everywhere(wrapHandle: (handle: Handle) => Handle): Plant {
  return { wrapHandle };
}

function inFirst(path: string, change: (response: ApiResponse) => ApiResponse): Plant {
  return {
    wrapHandle: (handle, serverId) => async (request) => {
      const response = await handle(request);
      return serverId === "server-1" && request.path === path ? change(response) : response;
    },
  };
}

/** Misroutes each request once; otherwise it would be proxied forever. */
function misroute(choose: (fromIp: string, toIp: string) => string): Plant {
  const misrouted = new Set<string>();
  return {
    tamper(request, from): UpstreamRequest {
      const auditId = headerOf(request.headers, "audit-id");
      if (auditId === undefined || misrouted.has(auditId)) return request;
      misrouted.add(auditId);
      const host = choose(ipOf(Number(from.slice("server-".length))), request.address.host);
      return { ...request, headers: withoutGuards(request.headers), address: { host, port: PORT } };
    },
  };
}

function ipOf(number: number): string {
  return `10.1.0.${number}`;
}

function withoutGuards(headers: readonly string[]): string[] {
  const isKept = (index: number): boolean => !LOOP_GUARDS.includes(headers[index - (index % 2)]!.toLowerCase());
  return headers.filter((_, index) => isKept(index));
}

function rewritten(response: ApiResponse, from: string, to: string): ApiResponse {
  if (response.body.kind !== "bytes") return response;
  const text = Buffer.concat(response.body.chunks).toString("utf8").replaceAll(from, to);
  return { ...response, body: bytesBody(Buffer.from(text)) };
}
