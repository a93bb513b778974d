/** Parses the query of a connection (exec, attach, portforward, proxy) to the options object that admission receives. */
import type { WithInfo } from "../../http/filters/request-info.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { parseUintError } from "../../../meta/resource-version.ts";
import { badRequest } from "../../../meta/status-error.ts";

const PORT_MAX = 65_535;

/** The options in v1, without unset fields. */
export function connectOptions(request: WithInfo): JsonObject & { readonly kind: string } {
  const { resource, subresource } = request.info;
  switch (subresource) {
    case "exec":
      return { kind: "PodExecOptions", apiVersion: "v1", ...streams(request), command: command(request) };
    case "attach":
      return { kind: "PodAttachOptions", apiVersion: "v1", ...streams(request) };
    case "portforward":
      return { kind: "PodPortForwardOptions", apiVersion: "v1", ...ports(request) };
    default:
      return { kind: PROXY_KINDS.get(resource) ?? "", apiVersion: "v1", ...proxiedPath(request) };
  }
}

const PROXY_KINDS: ReadonlyMap<string, string> = new Map([
  ["pods", "PodProxyOptions"],
  ["services", "ServiceProxyOptions"],
  ["nodes", "NodeProxyOptions"],
]);

function streams({ query }: WithInfo): JsonObject {
  const said: JsonObject = {};
  for (const name of ["stdin", "stdout", "stderr", "tty"]) if (isTrue(query.get(name))) said[name] = true;
  const container = query.get("container") ?? "";
  return container === "" ? said : { ...said, container };
}

/** As kubernetes parses booleans in a query: only "false" and "0" are false. */
function isTrue(text: string | undefined): boolean {
  return text !== undefined && text !== "0" && text.toLowerCase() !== "false";
}

function command({ query }: WithInfo): readonly string[] | null {
  return query.has("command") ? query.all("command") : null;
}

function ports({ query }: WithInfo): JsonObject {
  if (!query.has("ports")) return {};
  const given = query.all("ports").flatMap((text) => text.split(","));
  for (const text of given) {
    const why = parseUintError(text) ?? outOfRange(text);
    if (why !== undefined) throw badRequest(`cannot convert to []int32: ${why}`);
  }
  return { ports: given.map(Number) };
}

function outOfRange(text: string): string | undefined {
  return Number(text) > PORT_MAX ? `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range` : undefined;
}

function proxiedPath({ info }: WithInfo): JsonObject {
  const joined = info.rest.join("/");
  const rooted = joined === "" || joined.startsWith("/") ? joined : `/${joined}`;
  const path = info.path.endsWith("/") && !rooted.endsWith("/") ? `${rooted}/` : rooted;
  return path === "" ? {} : { path };
}
