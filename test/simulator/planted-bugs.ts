/**
 * Bugs that tests plant into an otherwise correct cluster, to show that each checker of requests and discovery reports
 * its bug.
 */
import { bytesBody, type ApiResponse } from "../../src/serving/http/message.ts";
import { LOOP_GUARDS } from "../../src/serving/http/proxy-headers.ts";
import { jsonResponse } from "../../src/serving/http/respond.ts";
import type { UpstreamRequest } from "../../src/serving/http/upstream.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { headerOf } from "../../src/tools/simulator/network.ts";
import type { Handle } from "../../src/tools/simulator/server.ts";

const PORT = 6443;
const OBJECT = /\/object-[0-9]+$/;

/** Every server replaces responses of peers by a 404. */
export function forgetsPeers(): Plant {
  return everywhere((handle) => async (request) => {
    const response = await handle(request);
    if (response.headers["x-evenkeel-served-by"] === undefined) return response;
    return jsonResponse(404, { kind: "Status", message: "the server could not find the requested resource" });
  });
}

/** Servers send proxied requests to a third server, without the headers that prevent loops. */
export function losesGuard(): Plant {
  return misroute((from, to) => [1, 2, 3].map(ipOf).find((ip) => ip !== from && ip !== to)!);
}

/** Servers send proxied requests back to the server that sent them, without the headers that prevent loops. */
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

/** Servers acknowledge creations that they do not store. */
export function forgetsWrites(): Plant {
  return everywhere(
    (handle) => (request) => handle(request.method === "POST" ? { ...request, rawQuery: "dryRun=All" } : request),
  );
}

/** The second server returns objects at versions that the store does not have. */
export function returnsOtherVersions(): Plant {
  return {
    wrapHandle: (handle, serverId) => async (request) => {
      const response = await handle(request);
      if (serverId !== "server-2" || request.method !== "GET" || !OBJECT.test(request.path)) return response;
      return rewritten(response, '"resourceVersion":"', '"resourceVersion":"1');
    },
  };
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

/** Misroutes each request only once; otherwise it would be proxied forever. */
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
