/** The query and path parameters of requests, by the options kind into which the server decodes them. */
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";
import type { FieldSchema } from "../../../objects/schema.ts";
import { metaModel, type Parameter } from "./operation.ts";

const query = (name: string, type: Parameter["type"] = "string"): Parameter => ({ name, in: "query", type });
const path = (name: string): Parameter => ({ name, in: "path", type: "string" });

export const NAME = path("name");
export const NAMESPACE_PARAMETER = path("namespace");
/** The part of the path that a proxy forwards. */
export const SUBPATH = path("path");
export const PRETTY = query("pretty");

/** GetOptions, which only custom resources have. */
export const GET: readonly Parameter[] = [query("resourceVersion")];
/** CreateOptions and UpdateOptions. */
export const WRITE: readonly Parameter[] = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
export const PATCH: readonly Parameter[] = [...WRITE, query("force", "boolean")];

const LIST: readonly Parameter[] = [
  query("allowWatchBookmarks", "boolean"),
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
  query("watch", "boolean"),
];
const POD_LOG: readonly Parameter[] = [
  query("container"),
  query("follow", "boolean"),
  query("insecureSkipTLSVerifyBackend", "boolean"),
  query("limitBytes", "integer"),
  query("previous", "boolean"),
  query("sinceSeconds", "integer"),
  query("tailLines", "integer"),
  query("timestamps", "boolean"),
];
const STREAMS: readonly Parameter[] = [
  query("container"),
  query("stderr", "boolean"),
  query("stdin", "boolean"),
  query("stdout", "boolean"),
  query("tty", "boolean"),
];
const PROXY: readonly Parameter[] = [query("path")];

/** The parameters of subresources to which clients connect, keyed by the kind of the options. */
export const CONNECT: ReadonlyMap<string, readonly Parameter[]> = new Map([
  ["NodeProxyOptions", PROXY],
  ["PodAttachOptions", STREAMS],
  ["PodExecOptions", [query("command"), ...STREAMS]],
  ["PodPortForwardOptions", [query("ports", "integer")]],
  ["PodProxyOptions", PROXY],
  ["ServiceProxyOptions", PROXY],
]);

export function listParameters({ release }: Catalog): readonly Parameter[] {
  return gatesOf(release.name).isOn("ShardSelectorParameter") ? [...LIST, query("shardSelector")] : LIST;
}

export function podLogParameters({ release }: Catalog): readonly Parameter[] {
  return gatesOf(release.name).isOn("PodLogStreamParameter") ? [...POD_LOG, query("stream")] : POD_LOG;
}

/** The fields of DeleteOptions that fit into a query. */
export function deleteParameters({ schemas }: Catalog): readonly Parameter[] {
  return [...metaModel(schemas, "DeleteOptions").fields]
    .filter(([name, { type }]) => name !== "apiVersion" && name !== "kind" && type !== "struct")
    .map(([name, field]) => query(name, queryType(field)));
}

function queryType({ type, items }: FieldSchema): Parameter["type"] {
  // As kubernetes: a list is published as one value.
  if (type === "array") return items === undefined ? "string" : queryType(items);
  return type === "integer" || type === "boolean" ? type : "string";
}
