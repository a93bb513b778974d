/**
 * Three servers go from one release to the next, back, and up again, one at a time, while clients use all of them and
 * the controllers in them have work. Run by itself it prints what the clients saw.
 */
import { setTimeout as delay } from "node:timers/promises";
import { objectAt, stringAt } from "../../src/meta/json.ts";
import { ControllerLoad } from "./controller-load.ts";
import { openFollowedStore, type FollowedStore } from "./followed-store.ts";
import { Follower, type Followed } from "./followers.ts";
import { isSuccess, Load, SHARED, type LoadResource } from "./load.ts";
import { reportOf, type Course, type Replacement, type RollReport } from "./rolling-upgrade-report.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

/** These serve the same, and store some of it in different versions. */
const OLDER = "1.34";
const NEWER = "1.35";
const WAY = [NEWER, OLDER, NEWER] as const;
/** Servers leave in good order here: one that is silent for want of a processor is not to be given up. */
const PATIENT = ["--peer-probe-misses", "15"] as const;
/** Switched on in the newer servers: it comes with the first of them, and goes with the last. */
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
/** What each server serves besides, as long as it is of the newer release: its changes can be seen in discovery. */
const MARKS: Readonly<Record<string, string>> = {
  a: "resource.k8s.io/v1beta1",
  b: "networking.k8s.io/v1beta1",
  c: "resource.k8s.io/v1beta2",
};
const FOLLOWED: readonly Followed[] = [
  { name: "configmaps", path: "/api/v1/configmaps", prefix: "configmaps/" },
  { name: "resourceclaims", path: "/apis/resource.k8s.io/v1/resourceclaims", prefix: "resourceclaims/" },
];
export const PER_SECOND = 200;
const DISCOVERY_EVERY_MS = 100;
/** Between two servers, as an operator would look at one before going on with the next. */
const BETWEEN_MS = 300;
/** For controllers and watches to come to rest, on a machine that may be busy with other things. */
const REST_MS = 120_000;

export async function rollingUpgrade(): Promise<RollReport> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await openCluster());
  const store = stack.use(await openFollowedStore(cluster.etcd.endpoint));
  const members = await Promise.all(
    Object.keys(MARKS).map((id) => cluster.start({ id, release: OLDER, flags: PATIENT })),
  );
  const { ca } = cluster;
  // One for each server, which must list anew whenever that was replaced, and one that goes on wherever it can.
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
  const answers = await load.stop();
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
    answers,
    controllerLoad,
    followers,
    store,
  });
}

interface Rolled {
  readonly cluster: Cluster;
  readonly store: FollowedStore;
  /** Replaced one by one. */
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
 * On the way up the server that runs the controllers comes last, so that they work among newer ones for a while, with
 * time to finish something; on the way down it comes first, so that they change their place as often as can be.
 */
function orderOf(members: readonly Member[], release: string, leader: string): number[] {
  const rank = (index: number): number => (members[index]!.id === leader ? (release === NEWER ? 1 : -1) : 0);
  return [...members.keys()].sort((one, other) => rank(one) - rank(other));
}

/** Who runs the controllers; "" when nobody does just then. */
function leaderOf(store: FollowedStore): string {
  const lease = store.get("leases/kube-system/evenkeel-controllers") ?? {};
  return stringAt(objectAt(lease, "spec"), "holderIdentity").split("_")[0]!;
}

/** How old the discovery of one server was, once it shows the change of another. */
async function untilShown(load: Load, replacement: Replacement, observer: string): Promise<readonly number[]> {
  const { server, isUpgrade, stoppedAt, readyAt } = replacement;
  // The server itself cannot be asked while it is away.
  if (observer === server) return [];
  const at = isUpgrade ? readyAt : stoppedAt;
  const first = await load.until(
    (answer) =>
      answer.server === observer &&
      answer.sentAt >= at &&
      answer.groupVersions !== undefined &&
      answer.groupVersions.includes(MARKS[server]!) === isUpgrade,
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
