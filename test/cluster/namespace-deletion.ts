/** Helpers for tests of namespace deletion: two servers, the conditions of the namespace, and its keys in the store. */
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import { type Kv, prefixEnd } from "../../src/storage/kv.ts";
import type { KubectlSession } from "../clients/kubectl-session.ts";
import { configMap, type SmokeResponse, type Json } from "../smoke/client.ts";
import { run } from "../smoke/start-evenkeel.ts";
import { untilReachable } from "./settle.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";
import { poll } from "./storage-versions.ts";

/** A resource that is served by 1.34 and later releases. */
export const CLAIMS = "resourceclaims.resource.k8s.io";

const PREFIX = "/registry/";
const OLDER = "1.33";
export const NEWER = "1.34";

/** An older server and a newer server. Only the newer server serves claims. */
export interface TwoServers extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly kv: Kv;
  readonly a: Member;
  readonly b: Member;
}

/** Starts two servers. The server with the ID `first` starts first and runs the controllers. */
export async function openTwoServers(first: "a" | "b", flags: readonly string[] = []): Promise<TwoServers> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await openCluster());
  const kv = await openEtcdKv({ endpoints: [cluster.etcd.endpoint], clock: realClock() });
  stack.defer(() => kv.close());
  const start = (id: "a" | "b"): Promise<Member> => cluster.start({ id, release: id === "a" ? OLDER : NEWER, flags });
  const leader = await start(first);
  const holder = await leaderOf(leader);
  if (holder !== first) throw new Error(`${holder} leads instead of ${first}`);
  const follower = await start(first === "a" ? "b" : "a");
  const [a, b] = first === "a" ? [leader, follower] : [follower, leader];
  await Promise.all([untilReachable(a, ["b"]), untilReachable(b, ["a"])]);
  const owned = stack.move();
  return { cluster, kv, a, b, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** Creates objects of resources that both servers serve, and one claim, which only the newer server serves. */
export async function fillNamespace(kubectl: KubectlSession, claimFinalizers: readonly string[] = []): Promise<void> {
  const { namespace } = kubectl;
  await kubectl.run("create", "namespace", namespace);
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "nginx:1" }] } };
  const deployment = {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" } },
    spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
  };
  const claim = {
    ...{ apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim" },
    metadata: { name: "gpu", finalizers: claimFinalizers },
    spec: { devices: { requests: [{ name: "one", exactly: { deviceClassName: "any" } }] } },
  };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec: template.spec };
  const objects: readonly Json[] = [configMap("settings"), pod, deployment, claim];
  for (const object of objects) await kubectl.run("create", "-f", kubectl.file(`${object.kind}.json`, object));
}

export async function deleteNamespace(kubectl: KubectlSession): Promise<void> {
  // The standard error is ignored, because newer releases of kubectl warn there that a namespace is cluster-scoped.
  await using command = kubectl.start("delete", "namespace", kubectl.namespace, "--wait=false");
  const { code } = await command.exited;
  const said = `namespace "${kubectl.namespace}" deleted\n`;
  if (code !== 0 || command.stdout !== said) throw new Error(`kubectl ended with ${code}: ${command.stderr}`);
}

/** All keys of the namespace, without /registry/, including the key of the Namespace object itself. */
export async function keysOf(kv: Kv, namespace: string): Promise<string[]> {
  const { items } = await kv.range({ start: PREFIX, end: prefixEnd(PREFIX) });
  const paths = items.map(({ key }) => key.slice(PREFIX.length));
  return paths.filter((path) => path.split("/").includes(namespace));
}

/** Waits until the condition is True and its message matches, and returns the message as kubectl prints it. */
export async function untilCondition(kubectl: KubectlSession, type: string, pattern: RegExp): Promise<string> {
  const conditions = `{.status.conditions[?(@.type=="${type}")]['status','message']}`;
  const path = `jsonpath={.status.phase} ${conditions}`;
  const isSaid = (text: string): boolean => text.startsWith("Terminating True ") && pattern.test(text);
  const { value } = await poll(() => kubectl.run("get", "namespace", kubectl.namespace, "-o", path), isSaid);
  return value.slice("Terminating True ".length);
}

/** Waits until the namespace is removed, and returns the time in milliseconds. */
export async function untilGone(member: Member, namespace: string): Promise<number> {
  const { ms } = await poll(
    () => member.request("GET", `/api/v1/namespaces/${namespace}`),
    ({ status }) => status === 404,
  );
  return ms;
}

/** Removes the spec finalizers of the namespace through its finalize subresource, as impatient users do. */
export async function finalizeByForce(member: Member, namespace: string): Promise<SmokeResponse> {
  const path = `/api/v1/namespaces/${namespace}`;
  const { body } = await member.request("GET", path);
  // The body has no resource version, so that the request is not rejected because of a conflict with the controller.
  const { resourceVersion: _, ...metadata } = body.metadata;
  return member.request("PUT", `${path}/finalize`, { ...body, metadata, spec: { finalizers: [] } });
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `evenkeel purge-namespace`, and retries while a busy server responds that it does not know all peers. */
export async function purgeNamespace({ kubeconfig }: Member, ...commandLine: string[]): Promise<Ended> {
  const attempt = async (): Promise<Ended> => {
    await using command = run("purge-namespace", ...commandLine, "--kubeconfig", kubeconfig);
    const { code } = await command.exited;
    return { code, stdout: command.stdout, stderr: command.stderr };
  };
  const { value } = await poll(attempt, ({ stderr }) => !stderr.includes("please try again later"));
  return value;
}

/** The ID of the server that runs the controllers. */
async function leaderOf(member: Member): Promise<string> {
  const path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel-controllers";
  const { value } = await poll(
    async () => (await member.request("GET", path)).body.spec?.holderIdentity ?? "",
    (holder: string) => holder !== "",
  );
  return value.split("_")[0]!;
}
