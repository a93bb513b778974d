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
  c: "certificates.k8s.io/v1beta1",
};
const PER_SECOND = 200;
const DISCOVERY_EVERY_MS = 50;
/** Between two servers, as an operator would look at one before going on with the next. */
const BETWEEN_MS = 1_500;

export interface UpgradeReport {
  readonly answers: number;
  /** Of requests that another server had to answer while one that could was ready. */
  readonly proxied: number;
  readonly proxiedFailed: number;
  /** Nobody listened, or the connection was cut: the server was being replaced. */
  readonly unanswered: number;
  readonly wrongNotFound: readonly LoadAnswer[];
  /** Neither a success, nor unanswered, nor 503 with Retry-After. */
  readonly unexpected: readonly LoadAnswer[];
  /** Milliseconds from a server's change until each server showed it. */
  readonly stalenessMs: readonly number[];
  /** Servers that never showed a change. */
  readonly neverShown: readonly string[];
  readonly summary: string;
}

interface Change {
  readonly server: string;
  readonly kind: "appears" | "disappears";
  readonly at: number;
}

export async function rollingUpgrade(): Promise<UpgradeReport> {
  await using cluster = await openCluster();
  const start = (id: string): Promise<Member> => cluster.start({ id, release: FROM });
  const members = new Map((await Promise.all(Object.keys(MARKS).map(start))).map((member) => [member.id, member]));
  const plan = { ca: cluster.ca, perSecond: PER_SECOND, discoveryEveryMs: DISCOVERY_EVERY_MS };
  await using load = new Load({ ...plan, servers: [...members.values()], resources: [EXCLUSIVE, SHARED] });
  await load.until(isSuccess);
  const changes: Change[] = [];
  const roll = async (kind: Change["kind"]): Promise<void> => {
    for (const id of Object.keys(MARKS)) {
      const [stoppedAt, member] = await replace(cluster, members.get(id)!, kind === "appears" ? TO : FROM);
      members.set(id, member);
      changes.push({ server: id, kind, at: kind === "appears" ? Date.now() : stoppedAt });
      await delay(BETWEEN_MS);
    }
  };
  await roll("appears");
  await roll("disappears");
  return report(await load.stop(), changes);
}

/** When it had stopped, and its successor. */
async function replace(cluster: Cluster, member: Member, release: string): Promise<[number, Member]> {
  const { code } = await member.stop();
  if (code !== 0) throw new Error(`${member.id} did not stop cleanly: ${member.stderr}`);
  const stoppedAt = Date.now();
  const { id, port } = member;
  const flags = release === TO ? ["--runtime-config", `${MARKS[id]}=true`] : [];
  return [stoppedAt, await cluster.start({ id, port, release, flags })];
}

function report(answers: readonly LoadAnswer[], changes: readonly Change[]): UpgradeReport {
  const requests = answers.filter(({ operation }) => operation !== "discovery");
  const servedFrom = changes[0]!.at;
  const servedUntil = changes.findLast(({ kind }) => kind === "disappears")!.at;
  // Before the first server was upgraded nobody served it, and 404 is the truth.
  const later = requests.filter(({ sentAt, resource }) => resource === SHARED.name || sentAt >= servedFrom);
  const proxied = later.filter(({ isProxied, sentAt }) => isProxied === true && sentAt < servedUntil);
  const proxiedFailed = proxied.filter(({ status, answeredAt }) => status >= 500 && answeredAt < servedUntil);
  const wrongNotFound = later.filter(isWrongNotFound);
  const unanswered = requests.filter(({ status }) => status === 0);
  const { stalenessMs, neverShown } = staleness(answers, changes);
  const percent = (100 * (proxied.length - proxiedFailed.length)) / proxied.length;
  const [median, slowest] = [stalenessMs[Math.floor(stalenessMs.length / 2)], stalenessMs.at(-1)];
  return {
    answers: requests.length,
    proxied: proxied.length,
    proxiedFailed: proxiedFailed.length, failures: proxiedFailed,
    unanswered: unanswered.length,
    wrongNotFound,
    unexpected: later.filter((answer) => answer.status !== 0 && !isSuccess(answer) && !isRetryable(answer)),
    stalenessMs,
    neverShown,
    summary:
      `rolling upgrade ${FROM} to ${TO} and back, ${PER_SECOND} requests/s to each of three servers: ` +
      `${requests.length} requests, ${unanswered.length} while their server was being replaced; ` +
      `${proxied.length} proxied, ${percent.toFixed(2)} % of them not 5xx; ${wrongNotFound.length} wrong 404s; ` +
      `staleness of merged discovery p50 ${median} ms, max ${slowest} ms over ${stalenessMs.length} observations`,
  };
}

/** A server that was not ready cannot have shown anything: only what it answered counts. */
function staleness(
  answers: readonly LoadAnswer[],
  changes: readonly Change[],
): Pick<UpgradeReport, "stalenessMs" | "neverShown"> {
  const stalenessMs: number[] = [];
  const neverShown: string[] = [];
  for (const { server, kind, at } of changes) {
    for (const observer of Object.keys(MARKS)) {
      const documents = answers.filter(
        (answer) => answer.server === observer && answer.groupVersions !== undefined && answer.sentAt >= at,
      );
      const isShown = ({ groupVersions }: LoadAnswer): boolean =>
        groupVersions!.includes(MARKS[server]!) === (kind === "appears");
      // Another change of the same server ends the time in which this one could be seen.
      const until = changes.find((other) => other.server === server && other.at > at)?.at ?? Infinity;
      const first = documents.find((answer) => isShown(answer) && answer.answeredAt < until);
      if (first === undefined) neverShown.push(`${observer}: ${MARKS[server]} ${kind}`);
      // The server itself is away for a moment after its mark has gone.
      else if (observer !== server || kind === "appears") stalenessMs.push(first.answeredAt - at);
    }
  }
  return { stalenessMs: stalenessMs.sort((one, other) => one - other), neverShown };
}

if (import.meta.main) console.info((await rollingUpgrade()).summary);
