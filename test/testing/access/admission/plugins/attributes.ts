/** Admission attributes for tests of plugins, and objects that the plugins read. */
import { formatGroupResource } from "../../../../../src/meta/group-version.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../../../../src/meta/json.ts";
import type { ObjectReader } from "../../../../../src/meta/object-table.ts";
import { StatusError } from "../../../../../src/meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../../../../../src/access/admission/admission.ts";

export type TestAttributes = Attributes & { readonly object: JsonObject };

/** Admission attributes for the creation of a pod, except for the attributes that are given. */
export function attributes(given: Partial<Attributes> & { readonly object: JsonObject }): TestAttributes {
  const metadata = objectAt(given.object, "metadata");
  return {
    user: { name: "alice", uid: "", groups: ["system:authenticated"], extra: {} },
    groupVersion: { group: "", version: "v1" },
    resource: "pods",
    subresource: "",
    kind: { group: "", version: "v1", kind: "Pod" },
    namespace: "ns",
    options: undefined,
    dryRun: false,
    versions: { served: [], convert: (object) => Promise.resolve(object) },
    warn: () => undefined,
    annotate: () => undefined,
    signal: new AbortController().signal,
    operation: "CREATE",
    name: stringAt(metadata, "name"),
    existing: undefined,
    ...given,
  };
}

/** Objects by the resource in which they are stored, such as "storageclasses.storage.k8s.io". */
export type StoredObjects = Readonly<Record<string, readonly JsonObject[]>>;

export function readerOf(objects: StoredObjects, unknownYet: StoredObjects = {}): ObjectReader {
  const find = (from: StoredObjects, resource: string, namespace: string, name: string): JsonObject | undefined =>
    (from[resource] ?? []).find((object) => placeOf(object) === `${namespace}/${name}`);
  return {
    get: (resource, namespace, name) => find(objects, formatGroupResource(resource), namespace, name),
    newest: (resource, namespace, name) => {
      const key = formatGroupResource(resource);
      return Promise.resolve(find(unknownYet, key, namespace, name) ?? find(objects, key, namespace, name));
    },
    list: (resource, namespace) =>
      (objects[formatGroupResource(resource)] ?? []).filter(
        (object) => namespace === "" || placeOf(object).startsWith(`${namespace}/`),
      ),
  };
}

function placeOf(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return `${stringAt(metadata, "namespace")}/${stringAt(metadata, "name")}`;
}

/** The object as the plugin returns it; fails if the plugin changes its input. */
export async function mutated(plugin: AdmissionPlugin, given: TestAttributes): Promise<JsonObject> {
  const before = cloneJson(given.object);
  const after = (await plugin.mutate?.(given)) ?? given.object;
  if (JSON.stringify(before) !== JSON.stringify(given.object)) throw new Error("the object was changed in place");
  return after;
}

/** The rejection by an admission plugin as "code message"; undefined if the plugin admits the request. */
export async function rejectionOf(ask: () => unknown): Promise<string | undefined> {
  try {
    await ask();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof StatusError) return `${thrown.code} ${thrown.message}`;
    throw thrown;
  }
}

export function pod(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "ns", ...metadata }, spec };
}

/** Containers named c0, c1, …, with these requests and limits. */
export function containers(...resources: readonly JsonObject[]): JsonObject[] {
  return resources.map((one, index) => ({ name: `c${index}`, image: "i", resources: one }));
}
