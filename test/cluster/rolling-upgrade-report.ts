/**
 * Compares the responses that clients got during a rolling upgrade with the content of the store, and summarizes them.
 */
import type { ControllerLoad } from "./controller-load.ts";
import type { FollowedStore } from "./watched-store.ts";
import type { Follower } from "./watch-clients.ts";
import {
  isRetryable,
  isSuccess,
  isWrongNotFound,
  SHARED,
  tallied,
  type LoadResponse,
  type LoadResource,
} from "./load.ts";

/** The replacement of a server by a server of another release, with wall clock times in milliseconds. */
export interface Replacement {
  readonly server: string;
  readonly isUpgrade: boolean;
  readonly beganAt: number;
  readonly stoppedAt: number;
  readonly readyAt: number;
}

export interface Course {
  readonly replacements: readonly Replacement[];
  /** For each replacement and each other server, the time until its discovery showed the change. Sorted. */
  readonly stalenessMs: readonly number[];
}

export interface RollMaterial {
  readonly way: readonly string[];
  /** The resource that only servers of the newer release serve. */
  readonly exclusive: LoadResource;
  readonly course: Course;
  /** The time from the end of all load until the controllers had finished. */
  readonly restMs: number;
  readonly responses: readonly LoadResponse[];
  readonly controllerLoad: ControllerLoad;
  readonly followers: readonly Follower[];
  readonly store: FollowedStore;
}

/** All fields are empty if nothing was wrong. */
export interface Wrong {
  readonly notFound: readonly LoadResponse[];
  /**
   * Responses that are neither a success, nor 503 with Retry-After, nor a write with an unknown result, nor a 404 (see
   * notFound), nor missing because their server was being replaced. Also the errors that ended scenes of the controller
   * load.
   */
  readonly unexpected: readonly (LoadResponse | string)[];
  /** Acknowledged writes that are not in the store. */
  readonly lostWrites: readonly string[];
  /** Lists and watches that differ from the store. */
  readonly gaps: readonly string[];
  /**
   * Dependents that were collected while their owner existed, and namespaces that were removed before they were empty.
   */
  readonly broken: readonly string[];
  /** Objects that should have been deleted, and remaining objects that should not have changed. */
  readonly unsettled: readonly string[];
}

export const NOTHING_WRONG: Wrong = {
  ...{ notFound: [], unexpected: [], lostWrites: [] },
  ...{ gaps: [], broken: [], unsettled: [] },
};

export interface RollReport {
  readonly wrong: Wrong;
  /** The number of requests that a ready server proxied while a server of the resource was ready. */
  readonly proxied: number;
  readonly proxiedFailed: readonly LoadResponse[];
  /** The longest response time of a ready server for local requests. It shows how busy the machine was. */
  readonly longestWaitMs: number;
  /** The requests per second to each server that the load generator achieved. */
  readonly perSecond: number;
  /** The number of completed scenes of the controller load, keyed by scene. */
  readonly scenes: Readonly<Record<string, number>>;
  /** The number of events that watches through all servers received. */
  readonly events: number;
  readonly summary: string;
}

export function reportOf(material: RollMaterial): RollReport {
  const { responses, course, controllerLoad, followers, exclusive } = material;
  const requests = responses.filter(({ operation }) => operation !== "discovery");
  const { replacements } = course;
  const firstAt = replacements[0]!.readyAt;
  // Requests for the exclusive resource are ignored until the first upgraded server is ready, because before that a 404
  // is right.
  const judged = requests.filter(({ sentAt, resource }) => resource !== exclusive.name || sentAt >= firstAt);
  const isMeant = (response: LoadResponse): boolean =>
    !isBeingReplaced(response, replacements) && !isDuringOutage(response, replacements);
  const meant = judged.filter(isMeant);
  const proxied = meant.filter(({ rule }) => rule === "served-by-peer");
  const counted = {
    wrong: wrongIn(judged, material),
    proxied: proxied.length,
    proxiedFailed: proxied.filter(isServerError),
    longestWaitMs: Math.max(...meant.filter(({ resource }) => resource === SHARED.name).map(durationMs)),
    perSecond: perSecond(requests),
    scenes: Object.fromEntries(controllerLoad.scenes),
    events: followers.reduce((sum, { events }) => sum + events, 0),
  };
  const rejected = meant.filter(({ rule, status }) => rule !== "served-by-peer" && status === 503).length;
  return { ...counted, summary: summaryOf(material, { ...counted, requests, refused: rejected }) };
}

function wrongIn(judged: readonly LoadResponse[], material: RollMaterial): Wrong {
  const { course, controllerLoad, followers, store } = material;
  const others = [...controllerLoad.unexpected, ...followers.flatMap(({ unexpected }) => unexpected)];
  const all = [...judged, ...others];
  const isExcused = (response: LoadResponse): boolean =>
    response.status === 0 && isBeingReplaced(response, course.replacements);
  return {
    notFound: all.filter(isWrongNotFound),
    unexpected: [
      ...all.filter(
        (answer) =>
          !isSuccess(answer) &&
          !isRetryable(answer) &&
          !isUndecided(answer) &&
          !isWrongNotFound(answer) &&
          !isExcused(answer),
      ),
      ...controllerLoad.failures,
    ],
    lostWrites: lostWrites(judged, material),
    gaps: [...store.failures, ...followers.flatMap((follower) => follower.compare(store.commits))],
    broken: store.witness.broken,
    unsettled: store.unsettled(controllerLoad.expected),
  };
}

/**
 * Created objects that the store does not contain although no deletion was requested, and deleted objects that it still
 * contains.
 */
function lostWrites(answers: readonly LoadResponse[], { store, exclusive }: RollMaterial): string[] {
  const keyOf = ({ resource, name }: LoadResponse): string =>
    resource === SHARED.name ? `configmaps/default/${name}` : `${exclusive.name}/${name}`;
  const deletions = answers.filter(({ operation }) => operation === "delete");
  const doomed = new Set(deletions.map(keyOf));
  const created = answers.filter((response) => response.operation === "create" && isSuccess(response)).map(keyOf);
  const deleted = deletions.filter(isSuccess).map(keyOf);
  return [
    ...created.filter((key) => !doomed.has(key) && store.get(key) === undefined).map((key) => `${key} is lost`),
    ...deleted.filter((key) => store.get(key) !== undefined).map((key) => `${key} is back`),
  ];
}

/**
 * True for a write that failed after it was sent to a peer. The client does not know its result, but the store shows
 * it.
 */
function isUndecided({ status, operation, message }: LoadResponse): boolean {
  const isWrite = operation === "create" || operation === "delete";
  return (
    status === 503 && isWrite && (message ?? "").startsWith("Error while proxying request to destination apiserver")
  );
}

function isBeingReplaced({ server, sentAt, answeredAt }: LoadResponse, replacements: readonly Replacement[]): boolean {
  return replacements.some((one) => one.server === server && answeredAt >= one.beganAt && sentAt <= one.readyAt);
}

/** True for a request while no server of the newer release was live: from the last downgrade until the next upgrade. */
function isDuringOutage({ sentAt, answeredAt }: LoadResponse, replacements: readonly Replacement[]): boolean {
  return replacements.some(({ isUpgrade, beganAt }, index) => {
    const next = replacements[index + 1];
    if (isUpgrade || next?.isUpgrade === false) return false;
    return answeredAt >= beganAt && sentAt <= (next?.readyAt ?? Infinity);
  });
}

function durationMs({ sentAt, answeredAt }: LoadResponse): number {
  return answeredAt - sentAt;
}

function isServerError({ status }: LoadResponse): boolean {
  return status >= 500;
}

interface Counted extends Omit<RollReport, "summary"> {
  readonly requests: readonly LoadResponse[];
  readonly refused: number;
}

function summaryOf({ way, course, restMs, controllerLoad, followers, store }: RollMaterial, counted: Counted): string {
  const { requests, refused, proxied, proxiedFailed, longestWaitMs, wrong, scenes, events } = counted;
  const { replacements, stalenessMs } = course;
  const replaced = requests.filter((response) => isBeingReplaced(response, replacements)).length;
  const early = store.goneBefore(controllerLoad.expected.namespacesGone, replacements.at(-1)!.readyAt);
  const lists = followers.reduce((sum, one) => sum + one.lists, 0);
  return [
    `rolling upgrade ${way.join(" → ")} of three servers in ${replacements.at(-1)!.readyAt - replacements[0]!.beganAt} ms: ` +
      `${requests.length} requests (${counted.perSecond}/s to each), ${replaced} of them while their server was being replaced; ` +
      `${proxied} proxied, ${percent(proxied - proxiedFailed.length, proxied)} not 5xx; ` +
      `longest response time of a ready server for a local request ${longestWaitMs} ms; ` +
      `${requests.filter(isUndecided).length} writes with an unknown result after a failed hop; ` +
      `${refused} rejected temporarily because the document of a server that had just become ready was not known yet`,
    `staleness of merged discovery p50 ${stalenessMs[Math.floor(stalenessMs.length / 2)]} ms, ` +
      `max ${stalenessMs.at(-1)} ms over ${stalenessMs.length} observations`,
    `controllers: ${Object.entries(scenes)
      .map(([scene, count]) => `${scene} ${count}`)
      .join(
        ", ",
      )} (${early} namespaces removed before the last upgrade was over); ${tallied(controllerLoad.responses)}; at rest ${restMs} ms after the load ended`,
    `${followers.length} list-and-watch clients: ${events} events, ${lists} lists; ${tallied(followers.flatMap(({ responses }) => responses))}`,
    `wrong responses: ${Object.entries(wrong)
      .map(([what, found]) => `${what} ${found.length}`)
      .join(", ")}`,
  ].join("\n");
}

function perSecond(requests: readonly LoadResponse[]): number {
  const seconds = (requests.at(-1)!.sentAt - requests[0]!.sentAt) / 1000;
  const servers = new Set(requests.map(({ server }) => server)).size;
  return Math.round(requests.length / seconds / servers);
}

function percent(part: number, whole: number): string {
  return `${((100 * part) / whole).toFixed(2)} %`;
}
