/** Namespaces full of owners and dependents, some of which are to stay and some to go. */
import { outageMs } from "./outages.ts";
import type { Story } from "./story.ts";
import { CONFIG_MAP, DEPLOYMENT, keyOf, pathOf, referenceTo, type Thing } from "./things.ts";

/** A request that a client makes until somebody does what it asks for. */
export interface Wish {
  readonly index: number;
  readonly target: string;
  readonly thing: Thing;
  readonly body?: object;
}

/**
 * Owners and dependents across resources: what is called leaving is meant to be deleted by `leave`, and takes with it
 * what it owns. Everything else stays.
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

/** Of what stays in a namespace that nobody deletes. */
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

/** What the store holds of a scene now. */
export function keysFound(story: Story, { namespace, thing }: Scene): string[] {
  const prefixes = new Set([thing, CONFIG_MAP, DEPLOYMENT].map(({ prefix }) => `${prefix}/`));
  return story.witness
    .keysIn(namespace)
    .filter((key) => !key.endsWith("/kube-root-ca.crt") && prefixes.has(key.slice(0, key.indexOf("/") + 1)))
    .sort();
}

/** The owners that are to leave, asked for once each; returns what could not be done. */
export async function leave(story: Story, index: number, { namespace, thing }: Scene): Promise<Wish[]> {
  const wishes: readonly Wish[] = [
    { index, thing, target: pathOf(thing, namespace, "leaving"), body: { propagationPolicy: "Background" } },
    { index, thing, target: pathOf(thing, namespace, "leaving-last"), body: { propagationPolicy: "Foreground" } },
    { index, thing: CONFIG_MAP, target: pathOf(CONFIG_MAP, namespace, "plain-leaving") },
  ];
  const refused: Wish[] = [];
  for (const { target, ...wish } of wishes) {
    const { status } = await story.ask(story.running(index), { ...wish, method: "DELETE", target });
    if (status !== 200) refused.push({ target, ...wish });
  }
  return refused;
}

/** Through whichever server will do it. */
export async function insistOn(story: Story, wishes: readonly Wish[]): Promise<void> {
  for (const { index, ...wish } of wishes) {
    let status = 404;
    for (let other = index; status === 404 && other < index + story.servers.length; other++)
      ({ status } = await story.insist(other % story.servers.length, { ...wish, method: "DELETE" }));
    if (status !== 200) throw new Error(`${wish.target}: ${status}`);
  }
}

export interface Outcome {
  /** What was done that must never be done. */
  readonly broken: readonly string[];
  readonly falseNotFound: readonly string[];
  /** Namespaces that did not go in time. */
  readonly stuck: readonly string[];
  /** Dependents of owners that are gone, and whatever else should have gone. */
  readonly uncollected: readonly string[];
  /** Whatever should have stayed. */
  readonly lost: readonly string[];
}

export const NOTHING_WRONG: Outcome = { broken: [], falseNotFound: [], stuck: [], uncollected: [], lost: [] };

export interface DeletedNamespace {
  readonly name: string;
  readonly atMs: number;
}

/** A namespace may take as long as this, and as long as something it may hold could not be reached. */
const DELETION_MS_MAX = 15_000;

export function outcomeOf(
  story: Story,
  { kept, deleted }: { readonly kept: readonly Scene[]; readonly deleted: readonly DeletedNamespace[] },
): Outcome {
  const { witness, falseNotFound, cluster } = story;
  const stuck = deleted.flatMap(({ name, atMs }) => {
    const goneAtMs = witness.goneAtMs.get(name);
    if (goneAtMs === undefined) return [`${name} is still there: ${story.complaints(name)}`];
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
