/**
 * Three servers go from one release to the next and back, one at a time, while clients use all of them. Run by itself it
 * prints what the clients saw.
 */
import { setTimeout as delay } from "node:timers/promises";
import { isRetryable, isSuccess, isWrongNotFound, Load, SHARED, type LoadAnswer, type LoadResource } from "./load.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const FROM = "1.35";
const TO = "1.36";
/** In v1 since 1.36. */
const EXCLUSIVE: LoadResource = {
  name: "mutatingadmissionpolicies",
  path: "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
  object: {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicy",
    spec: {
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: "[]" } }],
    },
  },
};
/** What each server serves besides, as long as it is of the newer release: its changes can be seen in discovery. */
const MARKS: Readonly<Record<string, string>> = {
  a: "resource.k8s.io/v1beta1",
  b: "networking.k8s.io/v1beta1",
  c: "resource.k8s.io/v1beta2",
};
export const PER_SECOND = 200;
const DISCOVERY_EVERY_MS = 50;
/** Between two servers, as an operator would look at one before going on with the next. */
const BETWEEN_MS = 1_500;

export interface UpgradeReport {
  /** Sent on to another server by one that was ready, while one that serves it was ready. */
  readonly proxied: number;
  readonly proxiedFailed: readonly LoadAnswer[];
  readonly wrongNotFound: readonly LoadAnswer[];
  /** Neither a success, nor 503 with Retry-After, nor unanswered because the server was being replaced. */
  readonly unexpected: readonly LoadAnswer[];
  /** To each server, as many as the machine had the time for. */
  readonly perSecond: number;
  readonly summary: string;
}

/** Wall clock, milliseconds. */
interface Replacement {
  readonly server: string;
  readonly to: string;
  readonly beganAt: number;
  readonly stoppedAt: number;
  readonly readyAt: number;
}

export async function rollingUpgrade(): Promise<UpgradeReport> {
  await using cluster = await openCluster();
  const ids = Object.keys(MARKS);
  const members = await Promise.all(ids.map((id) => cluster.start({ id, release: FROM })));
  const plan = { ca: cluster.ca, perSecond: PER_SECOND, discoveryEveryMs: DISCOVERY_EVERY_MS };
  await using load = new Load({ ...plan, servers: members, resources: [EXCLUSIVE, SHARED] });
  await load.until(isSuccess);
  const replacements: Replacement[] = [];
  const stalenessMs: number[] = [];
  for (const release of [TO, FROM]) {
    for (const index of ids.keys()) {
      const [replacement, member] = await replace(cluster, members[index]!, release);
      replacements.push(replacement);
      members[index] = member;
      const shown = Promise.all(ids.map((id) => untilShown(load, replacement, id)));
      stalenessMs.push(...(await Promise.all([shown, delay(BETWEEN_MS)]))[0].flat());
    }
  }
  return report(await load.stop(), { replacements, stalenessMs: stalenessMs.sort((one, other) => one - other) });
}

/** How old the discovery of one server was, once it shows the change of another. */
async function untilShown(load: Load, replacement: Replacement, observer: string): Promise<readonly number[]> {
  const { server, to, stoppedAt, readyAt } = replacement;
  // The server itself cannot be asked while it is away.
  if (observer === server) return [];
  const at = to === TO ? readyAt : stoppedAt;
  const first = await load.until(
    (answer) =>
      answer.server === observer &&
      answer.sentAt >= at &&
      answer.groupVersions !== undefined &&
      answer.groupVersions.includes(MARKS[server]!) === (to === TO),
  );
  return [first.answeredAt - at];
}

async function replace(cluster: Cluster, member: Member, to: string): Promise<[Replacement, Member]> {
  const { id: server, port } = member;
  const beganAt = Date.now();
  const { code } = await member.stop();
  if (code !== 0) throw new Error(`${server} did not stop cleanly: ${member.stderr}`);
  const stoppedAt = Date.now();
  const flags = to === TO ? ["--runtime-config", `${MARKS[server]}=true`] : [];
  const successor = await cluster.start({ id: server, port, release: to, flags });
  return [{ server, to, beganAt, stoppedAt, readyAt: Date.now() }, successor];
}

interface Course {
  readonly replacements: readonly Replacement[];
  /** Sorted. */
  readonly stalenessMs: readonly number[];
}

function report(answers: readonly LoadAnswer[], { replacements, stalenessMs }: Course): UpgradeReport {
  const requests = answers.filter(({ operation }) => operation !== "discovery");
  const isBeingReplaced = ({ server, sentAt, answeredAt }: LoadAnswer): boolean =>
    replacements.some((one) => one.server === server && answeredAt >= one.beganAt && sentAt <= one.readyAt);
  const [servedFrom, servedUntil] = [replacements[0]!.readyAt, replacements.at(-1)!.beganAt];
  // Before the first server was upgraded nobody served it, and 404 is the truth.
  const judged = requests.filter(({ sentAt, resource }) => resource === SHARED.name || sentAt >= servedFrom);
  const meant = judged.filter((answer) => !isBeingReplaced(answer) && answer.answeredAt < servedUntil);
  const proxied = meant.filter(({ rule }) => rule === "served-by-peer");
  const proxiedFailed = proxied.filter(({ status }) => status >= 500);
  const wrongNotFound = judged.filter(isWrongNotFound);
  return {
    proxied: proxied.length,
    proxiedFailed,
    wrongNotFound,
    unexpected: judged.filter((answer) => !isSuccess(answer) && !isRetryable(answer) && !isBeingReplaced(answer)),
    perSecond: perSecond(requests),
    summary:
      `rolling upgrade ${FROM} to ${TO} and back, ${PER_SECOND} requests/s to each of three servers: ` +
      `${requests.length} requests (${perSecond(requests)}/s to each in fact), ${requests.filter(isBeingReplaced).length} of them while their server was being replaced; ` +
      `${proxied.length} proxied, ${percent(proxied.length - proxiedFailed.length, proxied.length)} not 5xx; ` +
      `${meant.filter(({ rule, status }) => rule !== "served-by-peer" && status === 503).length} refused for a moment because ` +
      `a server that had just become ready had not been asked yet; ${wrongNotFound.length} wrong 404s; ` +
      `staleness of merged discovery p50 ${stalenessMs[Math.floor(stalenessMs.length / 2)]} ms, ` +
      `max ${stalenessMs.at(-1)} ms over ${stalenessMs.length} observations`,
  };
}

function perSecond(requests: readonly LoadAnswer[]): number {
  const seconds = (requests.at(-1)!.sentAt - requests[0]!.sentAt) / 1000;
  return Math.round(requests.length / seconds / Object.keys(MARKS).length);
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(2)} %`;
}

if (import.meta.main) console.info((await rollingUpgrade()).summary);
