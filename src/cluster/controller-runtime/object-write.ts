/** Recognizes writes of single objects in the requests of controllers, and equal writes of one object. Pure. */
import { createHash } from "node:crypto";
import { formatGroupResource } from "../../meta/group-version.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";

export interface ObjectWrite {
  /** Equal for all writes of one object or subresource. */
  readonly key: string;
  /** Equal for writes that set the same fields to the same values. */
  readonly content: string;
  readonly isCreate: boolean;
  /** The path at which the object is read. */
  readonly path: string;
  /** Such as "clusterroles.rbac.authorization.k8s.io". */
  readonly resource: string;
  /** "" if the object is cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

interface Sent {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly body: unknown;
}

/** Undefined for reads, dry runs and deletions. A deletion names the uid of its object, so it is not repeated. */
export function objectWrite({ method, target, body }: Sent): ObjectWrite | undefined {
  const isCreate = method === "POST";
  if (!isCreate && method !== "PUT" && method !== "PATCH") return undefined;
  const { pathname, searchParams } = new URL(target, "http://host");
  if (searchParams.has("dryRun") || !isJsonObject(body)) return undefined;
  const place = placeOf(pathname);
  if (place === undefined || (isCreate && place.name !== "")) return undefined;
  const name = place.name || stringAt(objectAt(body, "metadata"), "name");
  if (name === "") return undefined;
  const path = isCreate ? `${pathname}/${name}` : place.path;
  const { resource, namespace } = place;
  return { key: isCreate ? path : pathname, content: contentOf(body), isCreate, path, resource, namespace, name };
}

interface Place {
  readonly path: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** The last path segments of subresources of namespaces, which otherwise look like resources in a namespace. */
const OF_NAMESPACES: ReadonlySet<string> = new Set(["status", "finalize"]);

function placeOf(pathname: string): Place | undefined {
  const segments = pathname.split("/").slice(1);
  const isCore = segments[0] === "api";
  if (!isCore && segments[0] !== "apis") return undefined;
  const group = isCore ? "" : (segments[1] ?? "");
  const head = isCore ? 2 : 3;
  const rest = segments.slice(head);
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2 && !OF_NAMESPACES.has(rest[2] ?? "");
  const [resource = "", name = ""] = isNamespaced ? rest.slice(2) : rest;
  if (resource === "") return undefined;
  const length = head + (isNamespaced ? 4 : 2);
  return {
    path: `/${segments.slice(0, length).join("/")}`,
    resource: formatGroupResource({ group, resource }),
    namespace: isNamespaced ? (rest[1] ?? "") : "",
    name,
  };
}

/** The fields of the metadata that the server sets. They differ between two writes of the same content. */
const SERVER_SET: ReadonlySet<string> = new Set([
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "managedFields",
]);

function contentOf(body: JsonObject): string {
  const metadata = Object.entries(objectAt(body, "metadata")).filter(([field]) => !SERVER_SET.has(field));
  const text = JSON.stringify({ ...body, metadata: Object.fromEntries(metadata) });
  return createHash("sha256").update(text).digest("base64");
}

/** The field manager of API servers: their controllers, admission plugins and reconcilers. */
const API_SERVER = "kube-apiserver";

/**
 * The field manager that wrote the object last; undefined if it is an API server. The usage that admission charges to a
 * quota, for example, is no fight. Times in managedFields are in seconds, so of several managers with the same time, the
 * one that is no API server counts.
 */
export function lastManager(object: JsonObject): string | undefined {
  const entries = objectsAt(objectAt(object, "metadata"), "managedFields");
  const lastTime = entries.map(timeOf).reduce((last, time) => (time > last ? time : last), "");
  const last = entries.filter((entry) => timeOf(entry) === lastTime).map((entry) => stringAt(entry, "manager"));
  return last.find((manager) => manager !== "" && manager !== API_SERVER);
}

function timeOf(entry: JsonObject): string {
  return stringAt(entry, "time");
}
