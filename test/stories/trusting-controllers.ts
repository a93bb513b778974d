/**
 * A garbage collector and a namespace controller that rely on discovery, as those of kube-controller-manager do: a
 * resource that discovery does not list does not exist for them. They send all requests to one server, and instead of
 * watching they list all objects in rounds.
 */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../src/meta/json.ts";
import type { Story, StoryResponse } from "./story.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const MERGE_PATCH = "application/merge-patch+json";
const FOREGROUND = "foregroundDeletion";
const ROUND_SECONDS = 2;
const ROUNDS = 12;

interface Listed {
  readonly root: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly verbs: readonly string[];
}

interface Node {
  readonly path: string;
  readonly metadata: JsonObject;
  readonly owners: readonly JsonObject[];
}

interface Work {
  readonly deleted: readonly string[];
  readonly collectIn: readonly string[];
  readonly rounds?: number;
}

export class TrustingControllers {
  readonly #story: Story;
  readonly #index: number;
  /** The number of times that a controller treated a namespace as empty and tried to finalize it. */
  finalizeAttempts = 0;

  /** The controllers send their requests to the server at this index of the story. */
  constructor(story: Story, index: number) {
    this.#story = story;
    this.#index = index;
  }

  /** Runs both controllers for a number of rounds. */
  async work(options: Work): Promise<void> {
    for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
      const known = await this.#namespaced();
      for (const namespace of options.deleted) await this.#empty(namespace, known);
      await this.#collect(options.collectIn, known);
      await this.#story.pass(ROUND_SECONDS);
    }
  }

  /** The namespaced resources that discovery lists, each in its preferred version. */
  async #namespaced(): Promise<Listed[]> {
    const found = new Map<string, Listed>();
    for (const path of ["/api", "/apis"]) {
      const { body } = await this.#ask("GET", path, { headers: { accept: AGGREGATED } });
      for (const group of objectsAt(body, "items"))
        for (const version of objectsAt(group, "versions")) this.#note(found, group, version);
    }
    return [...found.values()];
  }

  #note(found: Map<string, Listed>, group: JsonObject, listed: JsonObject): void {
    const name = stringAt(objectAt(group, "metadata"), "name");
    const version = stringAt(listed, "version");
    const apiVersion = name === "" ? version : `${name}/${version}`;
    for (const item of objectsAt(listed, "resources")) {
      const resource = stringAt(item, "resource");
      const key = `${name} ${resource}`;
      if (stringAt(item, "scope") !== "Namespaced" || found.has(key)) continue;
      const root = name === "" ? `/api/${version}` : `/apis/${apiVersion}`;
      const kind = stringAt(objectAt(item, "responseKind"), "kind");
      found.set(key, { root, apiVersion, kind, resource, verbs: stringsAt(item, "verbs") });
    }
  }

  /** Deletes all objects of known resources in the namespace, and finalizes the namespace if none is left. */
  async #empty(namespace: string, known: readonly Listed[]): Promise<void> {
    const { status, body } = await this.#ask("GET", `/api/v1/namespaces/${namespace}`);
    if (status !== 200) return;
    let isEmpty = true;
    for (const { root, resource, verbs } of known) {
      if (!verbs.includes("deletecollection") || !verbs.includes("list")) continue;
      const path = `${root}/namespaces/${namespace}/${resource}`;
      await this.#ask("DELETE", path);
      const listed = await this.#ask("GET", path);
      // A 404 counts as an empty list, because these controllers have no other information.
      if (listed.status === 404) continue;
      if (listed.status !== 200 || objectsAt(listed.body, "items").length > 0) isEmpty = false;
    }
    if (!isEmpty) return;
    this.finalizeAttempts++;
    const spec = { ...objectAt(body, "spec"), finalizers: [] };
    await this.#ask("PUT", `/api/v1/namespaces/${namespace}/finalize`, { body: { ...body, spec } });
  }

  async #collect(namespaces: readonly string[], known: readonly Listed[]): Promise<void> {
    const nodes = new Map<string, Node>();
    for (const namespace of namespaces)
      for (const listed of known.filter(({ verbs }) => verbs.includes("list") && verbs.includes("delete")))
        for (const node of await this.#list(listed, namespace)) nodes.set(stringAt(node.metadata, "uid"), node);
    for (const node of nodes.values()) {
      if (isLeavingLast(node)) await this.#release(node, nodes);
      else if (node.owners.length > 0 && (await this.#isGarbage(node, { nodes, known }))) await this.#delete(node);
    }
  }

  async #list({ root, resource }: Listed, namespace: string): Promise<Node[]> {
    const path = `${root}/namespaces/${namespace}/${resource}`;
    const { body } = await this.#ask("GET", path);
    return objectsAt(body, "items").map((item) => {
      const metadata = objectAt(item, "metadata");
      return {
        path: `${path}/${stringAt(metadata, "name")}`,
        metadata,
        owners: objectsAt(metadata, "ownerReferences"),
      };
    });
  }

  /** Whether every owner of the object is deleted or waits for its dependents. */
  async #isGarbage(
    { path, owners }: Node,
    { nodes, known }: { readonly nodes: ReadonlyMap<string, Node>; readonly known: readonly Listed[] },
  ): Promise<boolean> {
    for (const owner of owners) {
      const node = nodes.get(stringAt(owner, "uid"));
      if (node !== undefined && isLeavingLast(node)) continue;
      if (node !== undefined || !(await this.#isGone(owner, path, known))) return false;
    }
    return true;
  }

  /** Whether the owner is deleted. An owner of a kind that discovery does not list does not count as deleted. */
  async #isGone(owner: JsonObject, dependent: string, known: readonly Listed[]): Promise<boolean> {
    const is = ({ apiVersion, kind }: Listed): boolean =>
      apiVersion === stringAt(owner, "apiVersion") && kind === stringAt(owner, "kind");
    const listed = known.find(is);
    if (listed === undefined) return false;
    const namespace = /\/namespaces\/([^/]+)\//.exec(dependent)![1]!;
    const path = `${listed.root}/namespaces/${namespace}/${listed.resource}/${stringAt(owner, "name")}`;
    const { status, body } = await this.#ask("GET", path);
    if (status === 404) return true;
    return status === 200 && stringAt(objectAt(body, "metadata"), "uid") !== stringAt(owner, "uid");
  }

  /** Deletes the dependents of an owner in foreground deletion, or removes its finalizer if no dependent is left. */
  async #release({ path, metadata }: Node, nodes: ReadonlyMap<string, Node>): Promise<void> {
    const uid = stringAt(metadata, "uid");
    const dependents = [...nodes.values()].filter(({ owners }) =>
      owners.some((owner) => stringAt(owner, "uid") === uid),
    );
    for (const dependent of dependents) await this.#delete(dependent);
    if (dependents.length > 0) return;
    const finalizers = stringsAt(metadata, "finalizers").filter((finalizer) => finalizer !== FOREGROUND);
    await this.#ask("PATCH", path, { body: { metadata: { finalizers } }, headers: { "content-type": MERGE_PATCH } });
  }

  async #delete({ path, metadata }: Node): Promise<void> {
    await this.#ask("DELETE", path, { body: { preconditions: { uid: stringAt(metadata, "uid") } } });
  }

  #ask(
    method: string,
    target: string,
    more: { readonly body?: object; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<StoryResponse> {
    return this.#story.ask(this.#story.running(this.#index), { method, target, ...more });
  }
}

function isLeavingLast({ metadata }: Node): boolean {
  return stringAt(metadata, "deletionTimestamp") !== "" && stringsAt(metadata, "finalizers").includes(FOREGROUND);
}

function objectsAt(object: JsonObject, name: string): JsonObject[] {
  const list = object[name];
  return Array.isArray(list) ? (list as unknown[]).filter(isJsonObject) : [];
}
