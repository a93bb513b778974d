/**
 * The work of clients while servers are replaced: ConfigMaps that must stay, and Deployments, Jobs and namespaces that
 * are created, handled by the controllers and deleted. A write counts only if the client got its response.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Json, SmokeResponse } from "../smoke/client.ts";

export const NAMESPACE = "work";
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const DEPLOYMENTS = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`;
const JOBS = `/apis/batch/v1/namespaces/${NAMESPACE}/jobs`;
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const WRITE_EVERY_MS = 50;
const SCENE_EVERY_MS = 1_500;
const POLL_MS = 250;
/** Time for the controllers to create or delete something. A new leader may have to take over first. */
const CONTROLLERS_MS = 300_000;
const REPLICAS = 2;

/** Sends a request to any ready server, on a connection of its own. */
export type Send = (method: string, path: string, body?: unknown) => Promise<SmokeResponse>;

export interface WorkReport {
  /** Responses to the creations of ConfigMaps, by status. */
  readonly writes: Readonly<Record<string, number>>;
  /** Acknowledged ConfigMaps that do not exist, or have another content. */
  readonly lost: readonly string[];
  /** Scenes by kind that ended as they must. */
  readonly scenes: Readonly<Record<string, number>>;
  /** Scenes that did not. */
  readonly failed: readonly string[];
}

type Scene = (send: Send, name: string) => Promise<void>;

const SCENES: Readonly<Record<string, Scene>> = { deployment, job, namespace };

export class Work {
  readonly acknowledged: string[] = [];
  readonly #send: Send;
  readonly #writes: Record<string, number> = {};
  readonly #scenes: Record<string, number> = {};
  readonly #failed: string[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #kept: string;
  #isStopped = false;

  private constructor(send: Send, kept: string) {
    this.#send = send;
    this.#kept = kept;
  }

  /** Resolves when the controllers have created the pods of a Deployment that must keep them. */
  static async start(send: Send): Promise<Work> {
    await create(send, "/api/v1/namespaces", { kind: "Namespace", apiVersion: "v1", metadata: { name: NAMESPACE } });
    await create(send, DEPLOYMENTS, deploymentOf("kept"));
    await until(async () => (await podsOf(send, "kept")).length === REPLICAS, "the pods of kept");
    const work = new Work(send, (await podsOf(send, "kept")).join());
    work.#running.push(work.#write(), work.#play());
    return work;
  }

  async stop(): Promise<WorkReport> {
    this.#isStopped = true;
    while (this.#running.length > 0) await this.#running.pop();
    const pods = (await podsOf(this.#send, "kept")).join();
    if (pods !== this.#kept) this.#failed.push(`kept: its pods were replaced: ${this.#kept} by ${pods}`);
    const { body } = await this.#send("GET", CONFIG_MAPS);
    const stored = new Map<string, Json>(body.items.map((item: Json) => [item.metadata.name, item.data?.name]));
    return {
      writes: this.#writes,
      lost: this.acknowledged.filter((name) => stored.get(name) !== name),
      scenes: this.#scenes,
      failed: this.#failed,
    };
  }

  async #write(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      const name = `w-${number}`;
      const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { name }, data: { name } };
      const response = await this.#send("POST", CONFIG_MAPS, object).catch(() => undefined);
      const code = response === undefined ? "no response" : String(response.status);
      this.#writes[code] = (this.#writes[code] ?? 0) + 1;
      if (response?.status === 201) this.acknowledged.push(name);
      await delay(WRITE_EVERY_MS);
    }
  }

  async #play(): Promise<void> {
    for (let number = 0; !this.#isStopped; number++) {
      for (const [kind, scene] of Object.entries(SCENES)) {
        const name = `${kind}-${number}`;
        const ended = scene(this.#send, name).then(
          () => void (this.#scenes[kind] = (this.#scenes[kind] ?? 0) + 1),
          (thrown: unknown) => void this.#failed.push(`${name}: ${String(thrown)}`),
        );
        this.#running.push(ended);
      }
      await delay(SCENE_EVERY_MS);
    }
  }
}

async function deployment(send: Send, name: string): Promise<void> {
  await create(send, DEPLOYMENTS, deploymentOf(name));
  await until(async () => (await podsOf(send, name)).length === REPLICAS, `the pods of ${name}`);
  await remove(send, `${DEPLOYMENTS}/${name}`);
  await until(async () => (await podsOf(send, name)).length === 0, `the collection of the pods of ${name}`);
}

async function job(send: Send, name: string): Promise<void> {
  await create(send, JOBS, {
    kind: "Job",
    apiVersion: "batch/v1",
    metadata: { name },
    spec: { template: { metadata: { labels: { app: name } }, spec: { restartPolicy: "Never", ...POD_SPEC } } },
  });
  await until(async () => (await podsOf(send, name)).length === 1, `the pod of ${name}`);
  await remove(send, `${JOBS}/${name}`);
  // The job controller's finalizer keeps the pod until the job is gone.
  await until(async () => (await podsOf(send, name)).length === 0, `the collection of the pod of ${name}`);
}

async function namespace(send: Send, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${name}`;
  await create(send, "/api/v1/namespaces", { kind: "Namespace", apiVersion: "v1", metadata: { name } });
  await create(send, `${path}/configmaps`, { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "content" } });
  await create(send, `/apis/apps/v1/namespaces/${name}/deployments`, deploymentOf("content"));
  await remove(send, path);
  await until(async () => (await send("GET", path)).status === 404, `the deletion of ${name}`);
  let left: Json[] = [];
  await until(async () => {
    const { status, body } = await send("GET", `${path}/configmaps`);
    left = body.items;
    return status === 200;
  }, `the list of the content of ${name}`);
  if (left.length > 0) throw new Error(`${name} is gone, and has content`);
}

const POD_SPEC = { containers: [{ name: "main", image: "main" }] };

function deploymentOf(name: string): Json {
  const labels = { app: name };
  return {
    kind: "Deployment",
    apiVersion: "apps/v1",
    metadata: { name },
    spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: POD_SPEC } },
  };
}

/** The UIDs of the pods of an application. Throws unless a server lists them. */
async function podsOf(send: Send, app: string): Promise<string[]> {
  const { status, body } = await send("GET", `${PODS}?labelSelector=app%3D${app}`);
  if (status !== 200) throw new Error(`list of pods: ${status}`);
  return body.items.map((pod: Json) => pod.metadata.uid).sort();
}

/** Repeats the creation until it is acknowledged; an object that already exists was created by an earlier attempt. */
async function create(send: Send, path: string, object: Json): Promise<void> {
  await until(async () => [201, 409].includes((await send("POST", path, object)).status), `the creation in ${path}`);
}

async function remove(send: Send, path: string): Promise<void> {
  const options = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };
  await until(
    async () => [200, 202, 404].includes((await send("DELETE", path, options)).status),
    `the deletion ${path}`,
  );
}

/** Polls until the condition holds. A request that fails counts as a condition that does not hold. */
async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + CONTROLLERS_MS;
  while (!(await holds().catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`timeout while waiting for ${what}`);
    await delay(POLL_MS);
  }
}
