/** Derives the verb, resource, namespace and name of a request from its method, path and query. */
import type { Query } from "./query.ts";

type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | "connect"
  | (string & {});

export interface RequestInfo {
  readonly isResourceRequest: boolean;
  /** The verb; for a non-resource request, the method in lower case. */
  readonly verb: Verb;
  /** The first segment of the path, such as "api" or "apis". */
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The decoded path. */
  readonly path: string;
  /** Decoded path segments. */
  readonly segments: readonly string[];
  /** The segments after the subresource: the path of a proxy request, or segments that make the path unknown. */
  readonly rest: readonly string[];
}

const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(["status", "finalize"]);
const METHOD_VERBS: ReadonlyMap<string, Verb> = new Map([
  ["POST", "create"],
  ["GET", "get"],
  ["HEAD", "get"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Returns undefined if the path cannot be decoded. */
export function parseRequestInfo(method: string, path: string, query: Query): RequestInfo | undefined {
  const decoded = decodePath(path);
  if (decoded === undefined) return undefined;
  const segments = segmentsOf(decoded);
  const [apiPrefix = ""] = segments;
  const headLength = apiPrefix === "api" ? 2 : apiPrefix === "apis" ? 3 : Infinity;
  if (segments.length <= headLength) {
    const [, group = "", version = ""] =
      apiPrefix === "apis" ? segments : apiPrefix === "api" ? ["", "", segments[1]] : [];
    return { ...NOTHING, verb: method.toLowerCase(), apiPrefix, group, version, path: decoded, segments };
  }
  const group = apiPrefix === "apis" ? segments[1]! : "";
  const version = segments[headLength - 1]!;
  return {
    ...parseResource(method, segments.slice(headLength), query),
    apiPrefix,
    group,
    version,
    path: decoded,
    segments,
  };
}

const NOTHING: Omit<RequestInfo, "verb" | "apiPrefix" | "group" | "version" | "path" | "segments"> = {
  isResourceRequest: false,
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  rest: [],
};

function parseResource(
  method: string,
  parts: readonly string[],
  query: Query,
): Omit<RequestInfo, "apiPrefix" | "group" | "version" | "path" | "segments"> {
  let verb: Verb = METHOD_VERBS.get(method) ?? "";
  let at = 0;
  const isWatchPath = parts[0] === "watch" && parts.length > 1;
  if (isWatchPath) at = 1;
  let namespace = "";
  if (parts[at] === "namespaces" && parts.length > at + 1) {
    namespace = parts[at + 1]!;
    // "namespaces/x" and "namespaces/x/status" are requests for the namespace itself, "namespaces/x/pods" for objects
    // in it.
    if (parts.length > at + 2 && !NAMESPACE_SUBRESOURCES.has(parts[at + 2]!)) at += 2;
  }
  const [resource = "", name = "", subresource = "", ...rest] = parts.slice(at);
  if (isWatchPath) verb = "watch";
  else if (name === "" && verb === "get") verb = isWatchQuery(query) ? "watch" : "list";
  else if (name === "" && verb === "delete") verb = "deletecollection";
  return {
    isResourceRequest: true,
    verb,
    namespace: resource === "namespaces" ? "" : namespace,
    resource,
    name,
    subresource,
    rest,
  };
}

/** As kubernetes Convert_Slice_string_To_bool: only "0" and "false" are false. */
function isWatchQuery(query: Query): boolean {
  const watch = query.get("watch");
  return watch !== undefined && watch !== "0" && watch.toLowerCase() !== "false";
}

/** An encoded slash separates segments like a plain slash. Returns undefined if the path cannot be decoded. */
function decodePath(path: string): string | undefined {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Splits the path. Leading and trailing slashes are ignored. */
function segmentsOf(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path[start] === "/") start++;
  while (end > start && path[end - 1] === "/") end--;
  return start === end ? [] : path.slice(start, end).split("/");
}
