/**
 * Serves the subresources that connect to a kubelet, to the pod network or to the endpoints of a Service: log, exec,
 * attach, portforward and proxy. Evenkeel does not connect to them. It returns kubernetes' responses for an absent
 * object, a missing or unknown container name, and a pod without a node or an IP address. All other requests return
 * 503: without Retry-After, because repeating the request would not help, and not 404, which would report that the pod
 * does not exist.
 */
import { bytesBody, type ApiResponse } from "../../http/message.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, forbidden, isReason, StatusError } from "../../../meta/status-error.ts";
import { get } from "../../registry/read.ts";
import { objectIn } from "../../registry/representation.ts";
import type { EndpointCall } from "../endpoint.ts";
import { connectOptions } from "./connect-options.ts";

const CONNECTIONS: ReadonlySet<string> = new Set(["log", "exec", "attach", "portforward", "proxy"]);

export function isConnection(subresource: string): boolean {
  return CONNECTIONS.has(subresource);
}

export async function connectionEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { resource, subresource, name } = call.request.info;
  const options = subresource === "log" ? undefined : await admitted(call);
  if (subresource === "proxy") return proxyEndpoint(call);
  if (options !== undefined) await rejectWithoutCreatePermission(call);
  const pod = await read(call, name);
  const container =
    options === undefined ? (call.request.query.get("container") ?? "") : stringAt(options, "container");
  if (subresource !== "portforward") rejectUnknownContainer(pod, container);
  const node = stringAt(objectAt(pod, "spec"), "nodeName");
  if (node !== "")
    throw unreachable(
      `node ${JSON.stringify(node)} cannot be reached: ${subresource} of ${resource} needs a kubelet, and this server is not connected to one`,
    );
  // As kubernetes: a pod without a node has not run, so its log is empty.
  if (subresource === "log") return { status: 204, headers: {}, body: bytesBody(Buffer.alloc(0)) };
  throw badRequest(`pod ${name} does not have a host assigned`);
}

/** Returns the options after admission. */
async function admitted({ admit, request }: EndpointCall): Promise<JsonObject> {
  if (request.query.has("dryRun")) throw badRequest("dryRun is not supported");
  const sent = connectOptions(request);
  const kind = { groupVersion: { group: "", version: "v1" }, kind: sent.kind };
  const admission = admit?.({ kind, dryRun: false, options: undefined });
  if (admission === undefined) return sent;
  const write = { operation: "CONNECT", name: request.info.name, existing: undefined } as const;
  const object = await admission.mutate({ ...write, object: sent });
  await admission.validate({ ...write, object });
  return object;
}

/** As kubernetes since 1.35: connecting requires permission to create, even for the GET of a WebSocket client. */
async function rejectWithoutCreatePermission({ served, request, rejectCreation }: EndpointCall): Promise<void> {
  if (request.info.verb === "create" || !served.gates.isOn("AuthorizePodWebsocketUpgradeCreatePermission")) return;
  try {
    await rejectCreation?.();
  } catch (thrown) {
    // As kubernetes: the error does not say why the user is forbidden.
    if (isReason(thrown, "Forbidden")) throw forbidden(served.groupResource, request.info.name, "");
    throw thrown;
  }
}

async function proxyEndpoint(call: EndpointCall): Promise<ApiResponse> {
  const { resource, name: id } = call.request.info;
  const singular = resource.slice(0, -1);
  const name = targetName(id);
  if (name === undefined) throw badRequest(`invalid ${singular} request ${JSON.stringify(id)}`);
  const object = await read(call, name);
  if (resource === "services")
    throw unreachable(
      `no endpoints available for service ${JSON.stringify(id)}: this server is not connected to the pod network`,
    );
  if (resource === "pods" && stringAt(objectAt(object, "status"), "podIP") === "")
    throw badRequest("address not allowed");
  throw unreachable(
    `${singular} ${JSON.stringify(name)} cannot be reached: this server is not connected to the network of ${resource}`,
  );
}

async function read({ context, served, request }: EndpointCall, name: string): Promise<JsonObject> {
  const entry = await get(context, served, { namespace: request.info.namespace, name, freshness: { kind: "newest" } });
  return objectIn(entry, served);
}

/** Parses "name", "name:port" or "scheme:name:port" and returns the name. */
function targetName(id: string): string | undefined {
  const parts = id.split(":");
  if (parts.length > 3) return undefined;
  const [scheme, name] = parts.length === 3 ? parts : ["", parts[0]];
  return name !== "" && (scheme === "" || scheme === "http" || scheme === "https") ? name : undefined;
}

function rejectUnknownContainer(pod: JsonObject, container: string): void {
  const name = stringAt(objectAt(pod, "metadata"), "name");
  const own = containerNames(pod, "containers");
  const all = [...containerNames(pod, "initContainers"), ...own, ...containerNames(pod, "ephemeralContainers")];
  if (container !== "") {
    if (!all.includes(container)) throw badRequest(`container ${container} is not valid for pod ${name}`);
    return;
  }
  if (own.length === 0) throw badRequest(`a container name must be specified for pod ${name}`);
  if (own.length > 1)
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(" ")}]`);
}

function containerNames(pod: JsonObject, field: string): string[] {
  return objectsAt(objectAt(pod, "spec"), field).map((container) => stringAt(container, "name"));
}

function unreachable(message: string): StatusError {
  return new StatusError("ServiceUnavailable", message);
}
