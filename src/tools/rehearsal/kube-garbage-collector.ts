/**
 * The garbage collector of kube-controller-manager. As kubernetes, it sees only objects of resources that it has
 * discovered, ignores owners of kinds that it has not discovered, and takes a 404 for the absence of the owner. So it
 * orphans or deletes only the dependents that it sees.
 */
import { formatGroupVersion } from "../../meta/group-version.ts";
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { pathOf, type KubeResource, type KubeSend } from "./kube-requests.ts";

interface Node {
  readonly of: KubeResource;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  readonly owners: readonly JsonObject[];
}

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const MERGE_PATCH = "application/merge-patch+json";
const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

export async function collectGarbage(
  send: KubeSend,
  known: readonly KubeResource[],
  isUsed: (resource: KubeResource) => boolean,
): Promise<void> {
  const graph: Node[] = [];
  const monitored = known.filter(({ verbs }) => ["list", "watch", "delete"].every((verb) => verbs.has(verb)));
  for (const of of monitored.filter(isUsed)) {
    const { status, object } = await send("GET", pathOf(of), { accept: METADATA });
    if (status === 200) graph.push(...objectsAt(object, "items").map((item) => nodeOf(of, item)));
  }
  await new Collection(send, known, graph).collect();
}

class Collection {
  readonly #send: KubeSend;
  readonly #known: readonly KubeResource[];
  readonly #graph: readonly Node[];
  readonly #byUid: ReadonlyMap<string, Node>;
  /** Owners that were looked up, by UID: whether they are absent. */
  readonly #absent = new Map<string, boolean>();

  constructor(send: KubeSend, known: readonly KubeResource[], graph: readonly Node[]) {
    this.#send = send;
    this.#known = known;
    this.#graph = graph;
    this.#byUid = new Map(graph.map((node) => [node.uid, node]));
  }

  async collect(): Promise<void> {
    for (const node of this.#graph) {
      if (node.isDeleting && node.finalizers.includes(ORPHAN)) await this.#orphan(node);
      else if (node.isDeleting && node.finalizers.includes(FOREGROUND)) await this.#deleteInForeground(node);
      else if (!node.isDeleting && node.owners.length > 0) await this.#collectDependent(node);
    }
  }

  #dependentsOf({ uid }: Node): Node[] {
    return this.#graph.filter(({ owners }) => owners.some((owner) => owner["uid"] === uid));
  }

  async #orphan(owner: Node): Promise<void> {
    for (const dependent of this.#dependentsOf(owner)) {
      const ownerReferences = dependent.owners.filter(({ uid }) => uid !== owner.uid);
      const { status } = await this.#patch(dependent, { ownerReferences, uid: dependent.uid });
      if (status !== 200 && status !== 404) return;
    }
    await this.#removeFinalizer(owner, ORPHAN);
  }

  async #deleteInForeground(owner: Node): Promise<void> {
    const blocking = this.#dependentsOf(owner).filter(({ owners }) =>
      owners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true),
    );
    if (blocking.length === 0) return this.#removeFinalizer(owner, FOREGROUND);
    for (const dependent of blocking) if (!dependent.isDeleting) await this.#delete(dependent, "Foreground");
  }

  /** Deletes the object if all its owners are known to be absent. */
  async #collectDependent(node: Node): Promise<void> {
    for (const owner of node.owners) {
      const uid = stringAt(owner, "uid");
      if (this.#byUid.has(uid)) return;
      const isAbsent = this.#absent.get(uid) ?? (await this.#isAbsent(owner, node.namespace));
      this.#absent.set(uid, isAbsent);
      if (!isAbsent) return;
    }
    await this.#delete(node, "Background");
  }

  async #isAbsent(owner: JsonObject, namespace: string): Promise<boolean> {
    const [apiVersion, kind] = [stringAt(owner, "apiVersion"), stringAt(owner, "kind")];
    const of = this.#known.find(
      (one) =>
        one.kind === kind && one.versions.some((version) => formatGroupVersion({ ...one, version }) === apiVersion),
    );
    if (of === undefined) return false;
    const place = { name: stringAt(owner, "name"), ...(of.namespaced && { namespace }) };
    const { status, object } = await this.#send("GET", pathOf(of, place));
    if (status === 404) return true;
    return status === 200 && objectAt(object, "metadata")["uid"] !== owner["uid"];
  }

  async #delete({ of, name, namespace, uid }: Node, propagationPolicy: string): Promise<void> {
    const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy, preconditions: { uid } };
    await this.#send("DELETE", pathOf(of, { name, ...(of.namespaced && { namespace }) }), { body });
  }

  async #removeFinalizer(node: Node, finalizer: string): Promise<void> {
    const finalizers = node.finalizers.filter((one) => one !== finalizer);
    await this.#patch(node, { finalizers, uid: node.uid });
  }

  #patch({ of, name, namespace }: Node, metadata: JsonObject): ReturnType<KubeSend> {
    const path = pathOf(of, { name, ...(of.namespaced && { namespace }) });
    return this.#send("PATCH", path, { body: { metadata }, contentType: MERGE_PATCH });
  }
}

function nodeOf(of: KubeResource, item: JsonObject): Node {
  const metadata = objectAt(item, "metadata");
  return {
    of,
    name: stringAt(metadata, "name"),
    namespace: stringAt(metadata, "namespace"),
    uid: stringAt(metadata, "uid"),
    isDeleting: metadata["deletionTimestamp"] !== undefined,
    finalizers: stringsAt(metadata, "finalizers"),
    owners: objectsAt(metadata, "ownerReferences"),
  };
}
