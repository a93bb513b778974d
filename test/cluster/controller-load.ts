/**
 * Creates work for the garbage collector and the namespace controller. It plays scenes: each scene creates owners with
 * dependents, or a namespace with objects, and deletes some of them. Its requests go to one server after the other. A
 * request without a response, or with 503 and Retry-After, is retried, and every response is recorded.
 */
import { Agent } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { ask, type Json, type Target } from "../smoke/client.ts";
import { TOKEN } from "../smoke/start-evenkeel.ts";
import { CLAIM, CONFIG_MAP, DEPLOYMENT, keyOf, pathOf, referenceTo, type Thing } from "../stories/things.ts";
import { formatGroupVersion } from "../../src/meta/group-version.ts";
import { isRetryable, isSuccess, responseParts, type LoadResponse } from "./load.ts";
import type { Member } from "./start-cluster.ts";

/** The namespace of all objects that do not need their own namespace. */
const HOME = "families";
const NAMESPACES = "/api/v1/namespaces";
const AGAIN_MS = 50;
const BETWEEN_SCENES_MS = 100;
const METHODS = { create: "POST", delete: "DELETE", get: "GET" } as const;
const SCENES = ["Background", "Foreground", "Orphan", "kept", "namespace"] as const;
type Scene = (typeof SCENES)[number];

interface RetriedRequest {
  readonly operation: keyof typeof METHODS;
  readonly resource: string;
  readonly name: string;
  readonly path: string;
  readonly body?: object;
  /** The status of a retry that shows that an earlier attempt with an unknown result has succeeded. */
  readonly isDone?: number;
}

interface Made {
  readonly thing: Thing;
  readonly name: string;
  readonly uid: string;
}

/** The expected state of the store after the controllers have finished. */
export interface Expected {
  /** The keys of the objects that must be deleted, without the root of the store. */
  readonly gone: ReadonlySet<string>;
  /** The uids of the expected owners of each remaining object, keyed by the object's key. */
  readonly kept: ReadonlyMap<string, readonly string[]>;
  readonly namespacesGone: ReadonlySet<string>;
}

interface SceneServer extends Target {
  readonly id: string;
}

export class ControllerLoad implements Disposable {
  /** The responses to all requests. */
  readonly responses: LoadResponse[] = [];
  /**
   * Requests without a response, and responses to creations in a deleted namespace that are neither a success, nor 503
   * with Retry-After, nor a rejection because of the deletion.
   */
  readonly unexpected: LoadResponse[] = [];
  /** Errors that ended a scene before it was complete. */
  readonly failures: string[] = [];
  readonly scenes = new Map<Scene, number>();
  readonly #gone = new Set<string>();
  readonly #kept = new Map<string, readonly string[]>();
  readonly #namespacesGone = new Set<string>();
  readonly #servers: readonly SceneServer[];
  readonly #stopping = new AbortController();
  #actors: readonly Promise<void>[] = [];
  /** A ConfigMap that is never deleted. It is the second owner of an object in each scene with owners. */
  #anchor: Made | undefined;
  #asked = 0;
  #isOver = false;

  constructor({ ca, servers }: { readonly ca: string; readonly servers: readonly Member[] }) {
    this.#servers = servers.map(({ id, url, port }) => ({
      ...{ id, url, port, ca, token: TOKEN },
      agent: new Agent({ keepAlive: true }),
    }));
  }

  get expected(): Expected {
    return { gone: this.#gone, kept: this.#kept, namespacesGone: this.#namespacesGone };
  }

  async start(): Promise<void> {
    await this.#makeNamespace(HOME);
    this.#anchor = await this.#make(CONFIG_MAP, "anchor");
    this.#kept.set(keyOf(CONFIG_MAP, HOME, "anchor"), []);
    this.#actors = this.#servers.map((_, index) => this.#act(index));
  }

  /** Starts no further scene, and waits until all running scenes are complete. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#actors);
  }

  /** Also ends scenes that still retry, for example because a server never returns. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stopping.abort();
    for (const { agent } of this.#servers) agent.destroy();
  }

  async #act(index: number): Promise<void> {
    for (let number = index; !this.#stopping.signal.aborted; number += this.#servers.length) {
      const scene = SCENES[number % SCENES.length]!;
      try {
        await (scene === "namespace" ? this.#playNamespace(`leaving-${number}`) : this.#playFamily(scene, number));
        this.scenes.set(scene, (this.scenes.get(scene) ?? 0) + 1);
      } catch (thrown) {
        this.failures.push(String(thrown));
      }
      await delay(BETWEEN_SCENES_MS);
    }
  }

  /**
   * Creates an owner, a child, a grandchild and an object with two owners, and deletes the owner unless the scene is
   * "kept". Config maps are stored in the same version by all releases, claims are not.
   */
  async #playFamily(scene: Exclude<Scene, "namespace">, number: number): Promise<void> {
    const [one, other] = number % 2 === 0 ? [CONFIG_MAP, CLAIM] : [CLAIM, CONFIG_MAP];
    const name = (role: string): string => `${role}-${number}`;
    const owner = await this.#make(one, name("owner"));
    const child = await this.#make(other, name("child"), owner);
    const grandchild = await this.#make(one, name("grandchild"), child);
    const shared = await this.#make(other, name("shared"), owner, this.#anchor!);
    for (const { thing, name: made } of [owner, child, grandchild, shared])
      await this.#insist({ operation: "get", resource: thing.resource, name: made, path: pathOf(thing, HOME, made) });
    const keep = (made: Made, ...owners: readonly Made[]): void =>
      void this.#kept.set(
        keyOf(made.thing, HOME, made.name),
        owners.map(({ uid }) => uid),
      );
    if (scene === "kept") {
      keep(owner);
      keep(child, owner);
      keep(grandchild, child);
      return keep(shared, owner, this.#anchor!);
    }
    const path = pathOf(one, HOME, owner.name);
    const about = { operation: "delete", resource: one.resource, name: owner.name } as const;
    await this.#insist({ ...about, path, body: { propagationPolicy: scene }, isDone: 404 });
    keep(shared, this.#anchor!);
    this.#gone.add(keyOf(one, HOME, owner.name));
    if (scene === "Orphan") {
      keep(child);
      return keep(grandchild, child);
    }
    for (const { thing, name: made } of [child, grandchild]) this.#gone.add(keyOf(thing, HOME, made));
  }

  /** Creates a namespace with objects, deletes it, and creates objects in it during and after the deletion. */
  async #playNamespace(namespace: string): Promise<void> {
    await this.#makeNamespace(namespace);
    const owner = await this.#insistOn(CONFIG_MAP, { namespace, name: "owner" });
    await this.#insistOn(CLAIM, { namespace, name: "child", owners: [owner] });
    await this.#insistOn(DEPLOYMENT, { namespace, name: "plain" });
    const path = `${NAMESPACES}/${namespace}`;
    const about = { resource: "namespaces", name: namespace } as const;
    await Promise.all([
      this.#insist({ ...about, operation: "delete", path, isDone: 404 }),
      this.#comeLate(namespace, "late"),
    ]);
    this.#namespacesGone.add(namespace);
    await this.#comeLate(namespace, "later");
  }

  async #comeLate(namespace: string, name: string): Promise<void> {
    const path = pathOf(CONFIG_MAP, namespace);
    const request = {
      operation: "create",
      resource: "configmaps",
      name,
      path,
      body: bodyOf(CONFIG_MAP, name),
    } as const;
    const { answer, body } = await this.#ask(this.#next(), request);
    const isRejected = answer.status === 403 && body?.details?.causes?.[0]?.reason === "NamespaceTerminating";
    const isGone = answer.status === 404 && body?.details?.kind === "namespaces" && body.details.name === namespace;
    if (!isRejected && !isGone && !isSuccess(answer) && !isRetryable(answer)) this.unexpected.push(answer);
  }

  async #makeNamespace(name: string): Promise<void> {
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    await this.#insist({ operation: "create", resource: "namespaces", name, path: NAMESPACES, body, isDone: 409 });
  }

  #make(thing: Thing, name: string, ...owners: readonly Made[]): Promise<Made> {
    return this.#insistOn(thing, { namespace: HOME, name, owners });
  }

  async #insistOn(
    thing: Thing,
    { namespace, name, owners = [] }: { namespace: string; name: string; owners?: readonly Made[] },
  ): Promise<Made> {
    const { resource } = thing;
    const path = pathOf(thing, namespace);
    const create = {
      operation: "create",
      resource,
      name,
      path,
      body: bodyOf(thing, name, owners),
      isDone: 409,
    } as const;
    const made = await this.#insist(create);
    // If an earlier attempt succeeded without a response, the retry returns a Status with 409 instead of the object.
    const { metadata } =
      made.kind === "Status"
        ? await this.#insist({ operation: "get", resource, name, path: pathOf(thing, namespace, name) })
        : made;
    return { thing, name, uid: metadata.uid };
  }

  /**
   * Sends the request to one server after the other until it succeeds. Throws an error if a server rejects it without
   * asking for a retry.
   */
  async #insist(request: RetriedRequest): Promise<Json> {
    for (let isOpen = false; !this.#isOver; isOpen = true) {
      const { answer, body } = await this.#ask(this.#next(), request);
      if (isSuccess(answer) || (isOpen && answer.status === request.isDone)) return body;
      if (answer.status === 0) this.unexpected.push(answer);
      else if (!isRetryable(answer))
        throw new Error(
          `${request.operation} ${request.path} ${request.name} at ${answer.server}: ${answer.status} ${answer.message}`,
        );
      await delay(AGAIN_MS);
    }
    throw new Error(`${request.operation} ${request.path} ${request.name}: the load has been stopped`);
  }

  #next(): SceneServer {
    return this.#servers[this.#asked++ % this.#servers.length]!;
  }

  async #ask(
    target: SceneServer,
    request: RetriedRequest,
  ): Promise<{ readonly answer: LoadResponse; readonly body: Json }> {
    const { operation, resource, name, path, body } = request;
    const about = { server: target.id, resource, operation, name, sentAt: Date.now() };
    const keep = (response: LoadResponse): LoadResponse => (this.responses.push(response), response);
    try {
      const response = await ask(target, { method: METHODS[operation], path, body });
      return { answer: keep({ ...about, ...responseParts(response), answeredAt: Date.now() }), body: response.body };
    } catch (thrown) {
      return {
        answer: keep({ ...about, status: 0, answeredAt: Date.now(), message: String(thrown) }),
        body: undefined,
      };
    }
  }
}

function bodyOf(thing: Thing, name: string, owners: readonly Made[] = []): object {
  const ownerReferences = owners.map((owner) => referenceTo(owner.thing, { name: owner.name, uid: owner.uid }));
  return {
    apiVersion: formatGroupVersion(thing),
    kind: thing.kind,
    metadata: { name, ownerReferences },
    ...thing.body,
  };
}
