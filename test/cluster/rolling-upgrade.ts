/**
 * Upgrades three servers to the next release and downgrades them again, one server at a time, as often as
 * EVENKEEL_ROUNDS says (default once). Meanwhile, clients send requests to all servers, and the controllers have work. If this file is run as a program, it
 * prints a summary of the responses.
 */
import { setTimeout as delay } from "node:timers/promises";
import { objectAt, stringAt } from "../../src/meta/json.ts";
import { ControllerLoad } from "./controller-load.ts";
import { openFollowedStore, type FollowedStore } from "./watched-store.ts";
import { Follower, type Followed } from "./watch-clients.ts";
import { isSuccess, Load, SHARED, type LoadResource } from "./load.ts";
import { reportOf, type Course, type Replacement, type RollReport } from "./rolling-upgrade-report.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

/** These releases serve the same resources, and store some of them in different versions. */
const OLDER = "1.34";
const NEWER = "1.35";
const ROUNDS = Number(process.env["EVENKEEL_ROUNDS"] ?? 1);
const WAY = Array.from({ length: ROUNDS }, () => [NEWER, OLDER]).flat();
/**
 * Allows many missed probes, because a server that is slow on a busy machine must not be treated as unreachable.
 * Servers shut down gracefully here, so probes are not needed to detect their departure.
 */
const PATIENT = ["--peer-probe-misses", "15"] as const;
/** Enabled only on servers of the newer release. */
const EXCLUSIVE_VERSION = "admissionregistration.k8s.io/v1beta1";
const MARK_CREATED = '[JSONPatch{op: "add", path: "/metadata/labels", value: {"marked": "yes"}}]';
const EXCLUSIVE: LoadResource = {
  name: "mutatingadmissionpolicies",
  path: `/apis/${EXCLUSIVE_VERSION}/mutatingadmissionpolicies`,
  object: {
    apiVersion: EXCLUSIVE_VERSION,
    kind: "MutatingAdmissionPolicy",
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: MARK_CREATED } }],
    },
  },
};
/**
 * A group version for each server, which the server enables only in the newer release, so that its upgrade is visible
 * in discovery.
 */
const MARKS: Readonly<Record<string, string>> = {
  a: "resource.k8s.io/v1beta1",
  b: "networking.k8s.io/v1beta1",
  c: "resource.k8s.io/v1beta2",
};
const FOLLOWED: readonly Followed[] = [
  { name: "configmaps", path: "/api/v1/configmaps", prefix: "configmaps/" },
  { name: "resourceclaims", path: "/apis/resource.k8s.io/v1/resourceclaims", prefix: "resourceclaims/" },
];
export const PER_SECOND = 100;
const DISCOVERY_EVERY_MS = 100;
/** The pause between the replacements of two servers, in which an operator would check the first one. */
const BETWEEN_MS = 300;
/** The maximum time for controllers and watches to finish on a busy machine. */
const REST_MS = 120_000;

export async function rollingUpgrade(): Promise<RollReport> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await openCluster());
  const store = stack.use(await openFollowedStore(cluster.etcd.endpoint));
  const members = await Promise.all(
    Object.keys(MARKS).map((id) => cluster.start({ id, release: OLDER, flags: PATIENT })),
  );
  const { ca } = cluster;
  // One client for each server, and one client that continues with another server when its server stops.
  const ways = [...members.map((member) => [member]), members.slice()];
  const followers = FOLLOWED.flatMap((followed) =>
    ways.map((servers) => stack.use(new Follower({ ca, followed, servers }))),
  );
  const following = Promise.all(followers.map((follower) => follower.run()));
  const controllerLoad = stack.use(new ControllerLoad({ ca, servers: members }));
  await controllerLoad.start();
  const plan = { ca, perSecond: PER_SECOND, discoveryEveryMs: DISCOVERY_EVERY_MS };
  const load = stack.use(new Load({ ...plan, servers: members, resources: [EXCLUSIVE, SHARED] }));
  await load.until(isSuccess);
  const course = await roll({ cluster, store, members, load });
  const responses = await load.stop();
  await controllerLoad.stop();
  const stoppedAt = Date.now();
  const late = AbortSignal.timeout(REST_MS);
  await store.until(() => store.unsettled(controllerLoad.expected).length === 0, late);
  const restMs = Date.now() - stoppedAt;
  await Promise.all(followers.map((one) => one.until(store.lastRevision(one.followed.prefix), late)));
  for (const follower of followers) follower[Symbol.dispose]();
  await following;
  await store.catchUp(late);
  return reportOf({
    way: [OLDER, ...WAY],
    exclusive: EXCLUSIVE,
    course,
    restMs,
    responses,
    controllerLoad,
    followers,
    store,
  });
}

interface Rolled {
  readonly cluster: Cluster;
  readonly store: FollowedStore;
  /** The current servers. `roll` replaces each of them by its successor. */
  readonly members: Member[];
  readonly load: Load;
}

async function roll({ cluster, store, members, load }: Rolled): Promise<Course> {
  const replacements: Replacement[] = [];
  const stalenessMs: number[] = [];
  for (const release of WAY) {
    for (const index of orderOf(members, release, leaderOf(store))) {
      const [replacement, member] = await replace(cluster, members[index]!, release);
      replacements.push(replacement);
      members[index] = member;
      const shown = Promise.all(members.map(({ id }) => untilShown(load, replacement, id)));
      stalenessMs.push(...(await Promise.all([shown, delay(BETWEEN_MS)]))[0].flat());
    }
  }
  return { replacements, stalenessMs: stalenessMs.sort((one, other) => one - other) };
}

/**
 * In an upgrade, the leader of the controllers is replaced last, so that the older controllers run among newer servers
 * for a while. In a downgrade, the leader is replaced first, so that the leadership changes as often as possible.
 */
function orderOf(members: readonly Member[], release: string, leader: string): number[] {
  const rank = (index: number): number => (members[index]!.id === leader ? (release === NEWER ? 1 : -1) : 0);
  return [...members.keys()].sort((one, other) => rank(one) - rank(other));
}

/** The ID of the server that leads the controllers, or "" if no server does. */
function leaderOf(store: FollowedStore): string {
  const lease = store.get("leases/kube-system/evenkeel-controllers") ?? {};
  return stringAt(objectAt(lease, "spec"), "holderIdentity").split("_")[0]!;
}

/** How long after the replacement the discovery of the observer showed it, in milliseconds. */
async function untilShown(load: Load, replacement: Replacement, observer: string): Promise<readonly number[]> {
  const { server, isUpgrade, stoppedAt, readyAt } = replacement;
  // The replaced server itself is not reachable meanwhile.
  if (observer === server) return [];
  const at = isUpgrade ? readyAt : stoppedAt;
  const first = await load.until(
    (response) =>
      response.server === observer &&
      response.sentAt >= at &&
      response.groupVersions !== undefined &&
      response.groupVersions.includes(MARKS[server]!) === isUpgrade,
  );
  return [first.answeredAt - at];
}

async function replace(cluster: Cluster, member: Member, to: string): Promise<[Replacement, Member]> {
  const { id: server, port } = member;
  const beganAt = Date.now();
  const { code } = await member.stop();
  if (code !== 0) throw new Error(`${server} did not stop cleanly: ${member.stderr}`);
  const stoppedAt = Date.now();
  const isUpgrade = to === NEWER;
  const flags = isUpgrade ? ["--runtime-config", `${MARKS[server]}=true,${EXCLUSIVE_VERSION}=true`] : [];
  const successor = await cluster.start({ id: server, port, release: to, flags: [...PATIENT, ...flags] });
  return [{ server, isUpgrade, beganAt, stoppedAt, readyAt: Date.now() }, successor];
}

if (import.meta.main) console.info((await rollingUpgrade()).summary);
