/** Reads the object to which a token is bound. The token becomes invalid when this object is deleted. */
import { parseGroupVersion, type GroupResource } from "../../../../meta/group-version.ts";
import { goQuote } from "../../../../meta/go-quote.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import { badRequest, conflict, notFound } from "../../../../meta/status-error.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";
import type { NamedObject, TokenRequestSpec } from "./token-request-spec.ts";

interface BindingTo {
  readonly objects: Pick<ObjectReader, "get" | "newest">;
  readonly namespace: string;
  /** The name of the service account. */
  readonly name: string;
  readonly gates: ReleaseGates;
}

export type Bound = Pick<TokenRequestSpec, "pod" | "secret" | "node">;

const PODS: GroupResource = { group: "", resource: "pods" };
const SECRETS: GroupResource = { group: "", resource: "secrets" };
const NODES: GroupResource = { group: "", resource: "nodes" };

/** Throws a StatusError if the object does not exist, differs from the reference, or cannot be bound. */
export async function boundObject(reference: unknown, to: BindingTo): Promise<Bound> {
  if (!isJsonObject(reference)) return {};
  const kind = stringAt(reference, "kind");
  const { group, version } = groupVersionOf(stringAt(reference, "apiVersion"));
  const name = stringAt(reference, "name");
  const known = group === "" ? KINDS.get(kind) : undefined;
  if (known === undefined) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  if (kind === "Node" && !to.gates.isOn("ServiceAccountTokenNodeBinding"))
    throw badRequest(
      'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled',
    );
  if (name === "") throw badRequest("Name parameter required.");
  const namespace = known.resource === NODES ? "" : to.namespace;
  const object = await to.objects.newest(known.resource, namespace, name);
  if (object === undefined) throw notFound(known.resource, name);
  const bound = await known.bound(object, to);
  rejectOther(kind, identity(object), stringAt(reference, "uid"));
  return bound;
}

interface BindableKind {
  readonly resource: GroupResource;
  readonly bound: (object: JsonObject, to: BindingTo) => Bound | Promise<Bound>;
}

const KINDS: ReadonlyMap<string, BindableKind> = new Map<string, BindableKind>([
  ["Pod", { resource: PODS, bound: boundPod }],
  ["Node", { resource: NODES, bound: (node) => ({ node: identity(node) }) }],
  ["Secret", { resource: SECRETS, bound: (secret) => ({ secret: identity(secret) }) }],
]);

async function boundPod(pod: JsonObject, { objects, name, gates }: BindingTo): Promise<Bound> {
  const spec = objectAt(pod, "spec");
  if (stringAt(spec, "serviceAccountName") !== name)
    throw badRequest(
      `cannot bind token for serviceaccount ${goQuote(name)} to pod running with different serviceaccount name.`,
    );
  const nodeName = stringAt(spec, "nodeName");
  if (nodeName === "" || !gates.isOn("ServiceAccountTokenPodNodeInfo")) return { pod: identity(pod) };
  const node = objects.get(NODES, "", nodeName) ?? (await objects.newest(NODES, "", nodeName));
  // If the node does not exist, the token contains only its name.
  return { pod: identity(pod), node: node === undefined ? { name: nodeName, uid: "" } : identity(node) };
}

function rejectOther(kind: string, { name, uid }: NamedObject, wanted: string): void {
  if (wanted === "" || wanted === uid) return;
  const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: "", resource: kind }, name, why);
}

/** As kubernetes: a malformed apiVersion counts as empty. */
function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const isOne = apiVersion.split("/", 3).length <= 2;
  return apiVersion === "" || !isOne ? { group: "", version: "" } : parseGroupVersion(apiVersion);
}

export function identity(object: JsonObject): NamedObject {
  const metadata = objectAt(object, "metadata");
  return { name: stringAt(metadata, "name"), uid: stringAt(metadata, "uid") };
}
