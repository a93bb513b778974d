/** Does the work of the controllers that clients wait for, because there is no controller manager. */
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { SmokeResponse, Json } from "../smoke/client.ts";
import type { Evenkeel } from "../smoke/start-evenkeel.ts";

const APPS = "/apis/apps/v1/namespaces";
const REVISION = "deployment.kubernetes.io/revision";
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const ROUND_MS = 100;
const TEMPLATE_HASH = "pod-template-hash";

/**
 * Behaves like the deployment controller with pods that are ready at once: creates a ReplicaSet with a revision for
 * each pod template, and sets the status.
 */
export async function playDeploymentController(server: Evenkeel, namespace: string, name: string): Promise<void> {
  const path = `${APPS}/${namespace}/deployments/${name}`;
  const revision = await ensureReplicaSet(server, await ok(server.request("GET", path)));
  const annotations = { [REVISION]: String(revision) };
  // As kubernetes: a change of the annotations of a Deployment increases its generation.
  const { metadata, spec } = await ok(server.request("PATCH", path, { metadata: { annotations } }, MERGE_PATCH));
  const { replicas } = spec;
  const condition = (type: string, reason: string): object => ({ type, status: "True", reason, message: "" });
  const status = {
    observedGeneration: metadata.generation,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    unavailableReplicas: null,
    conditions: [
      condition("Available", "MinimumReplicasAvailable"),
      condition("Progressing", "NewReplicaSetAvailable"),
    ],
  };
  await ok(server.request("PATCH", `${path}/status`, { status }, MERGE_PATCH));
}

/** Creates the ReplicaSet for the current template of the Deployment if it does not exist. Returns its revision. */
async function ensureReplicaSet(server: Evenkeel, deployment: Json): Promise<number> {
  const { namespace, name, uid } = deployment.metadata;
  const replicaSets = `${APPS}/${namespace}/replicasets`;
  const owned = ((await server.request("GET", replicaSets)).body.items as Json[]).filter(
    ({ metadata }) => metadata.ownerReferences?.[0].uid === uid,
  );
  const newest = Math.max(0, ...owned.map(revisionOf));
  const same = owned.find((replicaSet) => isDeepStrictEqual(templateOf(replicaSet), deployment.spec.template));
  const revision = same !== undefined && revisionOf(same) === newest ? newest : newest + 1;
  const annotations = { ...changeCause(deployment), [REVISION]: String(revision) };
  const current = `${name}-${revision}`;
  if (same === undefined)
    await ok(server.request("POST", replicaSets, replicaSetOf(deployment, { name: current, annotations })));
  else await ok(server.request("PATCH", pathOf(same), { metadata: { annotations } }, MERGE_PATCH));
  await scale(server, `${replicaSets}/${same?.metadata.name ?? current}`, deployment.spec.replicas);
  for (const other of owned) if (other !== same) await scale(server, pathOf(other), 0);
  return revision;
}

/** Scales a ReplicaSet, as if its pods were ready at once. */
async function scale(server: Evenkeel, path: string, replicas: number): Promise<void> {
  const { metadata } = await ok(server.request("PATCH", path, { spec: { replicas } }, MERGE_PATCH));
  const status = {
    observedGeneration: metadata.generation,
    replicas,
    fullyLabeledReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
  };
  await ok(server.request("PATCH", `${path}/status`, { status }, MERGE_PATCH));
}

function pathOf({ metadata: { namespace, name } }: Json): string {
  return `${APPS}/${namespace}/replicasets/${name}`;
}

function replicaSetOf(deployment: Json, metadata: { name: string; annotations: object }): object {
  const { name, uid } = deployment.metadata;
  const { template, selector, replicas } = deployment.spec;
  const labels = { ...template.metadata.labels, [TEMPLATE_HASH]: metadata.name };
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name, uid, controller: true, blockOwnerDeletion: true };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { ...metadata, labels, ownerReferences: [owner] },
    spec: {
      replicas,
      selector: { matchLabels: { ...selector.matchLabels, [TEMPLATE_HASH]: metadata.name } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function templateOf({ spec: { template } }: Json): object {
  const { [TEMPLATE_HASH]: _, ...labels } = template.metadata.labels;
  return { ...template, metadata: { ...template.metadata, labels } };
}

function revisionOf({ metadata }: Json): number {
  return Number(metadata.annotations?.[REVISION] ?? 0);
}

function changeCause({ metadata }: Json): object {
  const cause = metadata.annotations?.["kubernetes.io/change-cause"];
  return cause === undefined ? {} : { "kubernetes.io/change-cause": cause };
}

/**
 * Waits for work that needs controllers. Meanwhile it rolls out every changed Deployment of the namespace and completes
 * every Job.
 */
export async function withControllers<T>(work: Promise<T>, server: Evenkeel, namespace: string): Promise<T> {
  let isOver = false;
  const over = work.finally(() => (isOver = true));
  over.catch(() => {});
  while (!isOver) {
    await playRound(server, namespace).catch(unlessGone);
    await Promise.race([over, setTimeout(ROUND_MS)]);
  }
  return over;
}

/** Ignores the error if the object was deleted meanwhile. */
function unlessGone(thrown: unknown): void {
  if (!(thrown instanceof Error && thrown.message.includes('"reason":"NotFound"'))) throw thrown;
}

async function playRound(server: Evenkeel, namespace: string): Promise<void> {
  const items = async (path: string): Promise<Json[]> => (await server.request("GET", path)).body.items;
  for (const { metadata, status } of await items(`${APPS}/${namespace}/deployments`))
    if (status?.observedGeneration !== metadata.generation)
      await playDeploymentController(server, namespace, metadata.name);
  for (const { metadata, status } of await items(`/apis/batch/v1/namespaces/${namespace}/jobs`))
    if (status?.completionTime === undefined) await playJobController(server, namespace, metadata.name);
}

/** Completes a Job, as the job controller would. */
async function playJobController(server: Evenkeel, namespace: string, name: string): Promise<void> {
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs/${name}`;
  const time = new Date().toISOString().replace(/\.\d+/, "");
  const condition = (type: string): object => ({ type, status: "True", lastProbeTime: time, lastTransitionTime: time });
  const status = {
    startTime: time,
    completionTime: time,
    succeeded: 1,
    ready: 0,
    terminating: 0,
    uncountedTerminatedPods: {},
    conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
  };
  await ok(server.request("PATCH", `${path}/status`, { status }, MERGE_PATCH));
}

/** The body of a response, which must be a success. */
async function ok(response: Promise<SmokeResponse>): Promise<Json> {
  const { status, text, body } = await response;
  if (status >= 300) throw new Error(text);
  return body;
}
