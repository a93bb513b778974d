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
  return parseResource(segments, { method, apiPrefix, headLength, path: decoded, query });
}

const NOTHING: Omit<RequestInfo, "verb" | "apiPrefix" | "group" | "version" | "path" | "segments"> = {
  isResourceRequest: false,
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  rest: [],
};

interface ResourcePath {
  readonly method: string;
  readonly apiPrefix: string;
  /** Number of segments before those of the resource: "api" and the version, or "apis", the group and the version. */
  readonly headLength: number;
  /** The decoded path. */
  readonly path: string;
  readonly query: Query;
}

/** Builds the result in one step and without copies, because this function runs for every request. */
function parseResource(
  segments: readonly string[],
  { method, apiPrefix, headLength, path, query }: ResourcePath,
): RequestInfo {
  let at = headLength;
  const isWatchPath = segments[at] === "watch" && segments.length > at + 1;
  if (isWatchPath) at++;
  let namespace = "";
  if (segments[at] === "namespaces" && segments.length > at + 1) {
    namespace = segments[at + 1]!;
    // "namespaces/x" and "namespaces/x/status" are requests for the namespace itself, "namespaces/x/pods" for objects
    // in it.
    if (segments.length > at + 2 && !NAMESPACE_SUBRESOURCES.has(segments[at + 2]!)) at += 2;
  }
  const resource = segments[at] ?? "";
  const name = segments[at + 1] ?? "";
  const subresource = segments[at + 2] ?? "";
  return {
    isResourceRequest: true,
    verb: isWatchPath ? "watch" : verbOf(method, name, query),
    apiPrefix,
    group: apiPrefix === "apis" ? segments[1]! : "",
    version: segments[headLength - 1]!,
    namespace: resource === "namespaces" ? "" : namespace,
    resource,
    name,
    subresource,
    path,
    segments,
    rest: segments.length > at + 3 ? segments.slice(at + 3) : NO_SEGMENTS,
  };
}

function verbOf(method: string, name: string, query: Query): Verb {
  const verb = METHOD_VERBS.get(method) ?? "";
  if (name !== "") return verb;
  if (verb === "get") return isWatchQuery(query) ? "watch" : "list";
  return verb === "delete" ? "deletecollection" : verb;
}

const NO_SEGMENTS: readonly string[] = [];

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

const SLASH = 0x2f;

/** Splits the path. Leading and trailing slashes are ignored. */
function segmentsOf(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (start < end && path.charCodeAt(start) === SLASH) start++;
  while (end > start && path.charCodeAt(end - 1) === SLASH) end--;
  return start === end ? [] : path.slice(start, end).split("/");
}
