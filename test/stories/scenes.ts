/**
 * Fills namespaces with owners and dependents, deletes some of them, and compares the remaining objects with the
 * expected ones.
 */
import { outageMs } from "./outages.ts";
import type { Story } from "./story.ts";
import { CONFIG_MAP, DEPLOYMENT, keyOf, pathOf, referenceTo, type Thing } from "./things.ts";

/** A deletion that a client retries until a server executes it. */
export interface RetriedRequest {
  readonly index: number;
  readonly target: string;
  readonly thing: Thing;
  readonly body?: object;
}

/**
 * Creates owners and dependents, some of the resource `thing`. `leave` deletes the owners whose names contain
 * "leaving", and the garbage collector must delete their dependents. All other objects must stay.
 */
export async function fill(story: Story, index: number, { namespace, thing }: Scene): Promise<void> {
  await story.makeNamespace(index, namespace);
  const make = async (of: Thing, name: string, ...owners: readonly object[]): Promise<object> =>
    referenceTo(of, await story.make(index, { thing: of, namespace, name, owners }));
  const owner = await make(thing, "owner");
  await make(CONFIG_MAP, "of-owner", owner);
  await make(DEPLOYMENT, "of-owner", owner);
  const plain = await make(CONFIG_MAP, "plain");
  const ofPlain = await make(thing, "of-plain", plain);
  await make(CONFIG_MAP, "of-of-plain", ofPlain);
  await make(CONFIG_MAP, "of-both", owner, plain);
  const leaving = await make(thing, "leaving");
  await make(CONFIG_MAP, "of-leaving", leaving);
  await make(DEPLOYMENT, "of-leaving", leaving);
  const leavingLast = await make(thing, "leaving-last");
  await make(CONFIG_MAP, "of-leaving-last", leavingLast);
  const plainLeaving = await make(CONFIG_MAP, "plain-leaving");
  const ofPlainLeaving = await make(thing, "of-plain-leaving", plainLeaving);
  await make(CONFIG_MAP, "of-of-plain-leaving", ofPlainLeaving);
}

export interface Scene {
  readonly namespace: string;
  readonly thing: Thing;
}

/** The keys of the objects that must stay in a namespace that is not deleted. */
export function keysKept({ namespace, thing }: Scene): string[] {
  const kept: readonly (readonly [Thing, string])[] = [
    ...([
      [thing, "owner"],
      [CONFIG_MAP, "of-owner"],
      [DEPLOYMENT, "of-owner"],
    ] as const),
    ...([
      [CONFIG_MAP, "plain"],
      [thing, "of-plain"],
      [CONFIG_MAP, "of-of-plain"],
      [CONFIG_MAP, "of-both"],
    ] as const),
  ];
  return kept.map(([of, name]) => keyOf(of, namespace, name)).sort();
}

/** The keys of the owners and dependents in the namespace that the store contains now. */
export function keysFound(story: Story, { namespace, thing }: Scene): string[] {
  const prefixes = new Set([thing, CONFIG_MAP, DEPLOYMENT].map(({ prefix }) => `${prefix}/`));
  return story.witness
    .keysIn(namespace)
    .filter((key) => !key.endsWith("/kube-root-ca.crt") && prefixes.has(key.slice(0, key.indexOf("/") + 1)))
    .sort();
}

/** Deletes the owners whose names contain "leaving", with one attempt each. Returns the requests that failed. */
export async function leave(story: Story, index: number, { namespace, thing }: Scene): Promise<RetriedRequest[]> {
  const requests: readonly RetriedRequest[] = [
    { index, thing, target: pathOf(thing, namespace, "leaving"), body: { propagationPolicy: "Background" } },
    { index, thing, target: pathOf(thing, namespace, "leaving-last"), body: { propagationPolicy: "Foreground" } },
    { index, thing: CONFIG_MAP, target: pathOf(CONFIG_MAP, namespace, "plain-leaving") },
  ];
  const rejected: RetriedRequest[] = [];
  for (const { target, ...request } of requests) {
    const { status } = await story.ask(story.running(index), { ...request, method: "DELETE", target });
    if (status !== 200) rejected.push({ target, ...request });
  }
  return rejected;
}

/**
 * Sends each deletion to one server after the other until a server does not return 404, and retries it after a 503.
 * Throws an error if the deletion does not succeed.
 */
export async function retryUntilDone(story: Story, requests: readonly RetriedRequest[]): Promise<void> {
  for (const { index, ...request } of requests) {
    let status = 404;
    for (let other = index; status === 404 && other < index + story.servers.length; other++)
      ({ status } = await story.retryUntilDone(other % story.servers.length, { ...request, method: "DELETE" }));
    if (status !== 200) throw new Error(`${request.target}: ${status}`);
  }
}

export interface Outcome {
  /** Violations of the controllers' guarantees. */
  readonly broken: readonly string[];
  readonly falseNotFound: readonly string[];
  /** Deleted namespaces that were not removed in time. */
  readonly stuck: readonly string[];
  /** Objects that should have been deleted, such as dependents of deleted owners. */
  readonly uncollected: readonly string[];
  /** Objects that should have stayed. */
  readonly lost: readonly string[];
}

export const NOTHING_WRONG: Outcome = { broken: [], falseNotFound: [], stuck: [], uncollected: [], lost: [] };

export interface DeletedNamespace {
  readonly name: string;
  readonly atMs: number;
}

/**
 * The maximum duration of the deletion of a namespace, not counting the time in which no server served some resource of
 * the cluster.
 */
const DELETION_MS_MAX = 15_000;

export function outcomeOf(
  story: Story,
  { kept, deleted }: { readonly kept: readonly Scene[]; readonly deleted: readonly DeletedNamespace[] },
): Outcome {
  const { witness, falseNotFound, cluster } = story;
  const stuck = deleted.flatMap(({ name, atMs }) => {
    const goneAtMs = witness.goneAtMs.get(name);
    if (goneAtMs === undefined) return [`${name} still exists: ${story.complaints(name)}`];
    const tookMs = goneAtMs - atMs - outageMs(cluster.runs, atMs, goneAtMs);
    return tookMs <= DELETION_MS_MAX ? [] : [`${name} took ${tookMs} ms`];
  });
  return {
    ...{ broken: witness.broken, falseNotFound, stuck },
    uncollected: kept.flatMap((scene) => difference(keysFound(story, scene), keysKept(scene))),
    lost: kept.flatMap((scene) => difference(keysKept(scene), keysFound(story, scene))),
  };
}

function difference(left: readonly string[], right: readonly string[]): string[] {
  return left.filter((key) => !right.includes(key));
}
