/** What mixed clusters are made of in the stories, and what happens in them. */
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import {
  fill,
  insistOn,
  leave,
  outcomeOf,
  type DeletedNamespace,
  type Outcome,
  type Scene,
  type Wish,
} from "./scenes.ts";
import { withGate, type Gate, type Story } from "./story.ts";
import { CLAIM, CLAIM_PARAMETERS, DEPLOYMENT, JOB, pathOf, type Thing } from "./things.ts";

export interface Case {
  readonly name: string;
  readonly thing: Thing;
  /** Serves the thing. */
  readonly serving: RunOptions;
  /** Does not, unless everybody does. */
  readonly other: RunOptions;
  /** To whom something happens. */
  readonly disturbed: "serving" | "other";
}

export const ALPHA = { release: "1.30", runtimeConfig: ["resource.k8s.io/v1alpha2=true"] } as const;
const WITHOUT_BATCH = { release: "1.36", runtimeConfig: ["batch/v1=false"] } as const;

export const REMOVED: Case = {
  ...{ name: "removed for good: resourceclaimparameters of 1.30, with 1.31", thing: CLAIM_PARAMETERS },
  ...{ serving: ALPHA, other: { release: "1.31" }, disturbed: "serving" },
};
export const SWITCHED_OFF: Case = {
  ...{ name: "removed by a flag: jobs of 1.36, with 1.36 without batch/v1", thing: JOB },
  ...{ serving: { release: "1.36" }, other: WITHOUT_BATCH, disturbed: "serving" },
};
export const INTRODUCED: Case = {
  ...{ name: "introduced: resourceclaims v1 of 1.34, with 1.33", thing: CLAIM },
  ...{ serving: { release: "1.34" }, other: { release: "1.33" }, disturbed: "serving" },
};
export const UNCHANGED: Case = {
  ...{ name: "unchanged: deployments and configmaps of 1.33 and 1.34", thing: DEPLOYMENT },
  // One of two that serve the same: nobody else may notice.
  ...{ serving: { release: "1.34" }, other: { release: "1.33" }, disturbed: "other" },
};

/** Whoever starts first leads, so that controllers run on a server of each kind. */
export interface Lineup {
  readonly leader: string;
  readonly order: readonly ("serving" | "other")[];
}
export const SERVING_LEADS: Lineup = { leader: "who serves it", order: ["serving", "other", "other"] };
export const OTHER_LEADS: Lineup = { leader: "somebody else", order: ["other", "other", "serving"] };

export const OUTAGE_SECONDS = 40;
/** Longer than a namespace may take, so that one that takes longer is told from one that never goes. */
export const AFTERWARDS_SECONDS = 25;

/** Something that happens to the server at a position of the lineup. */
export interface Disturbance {
  readonly name: string;
  begin(story: Story, position: number): Promise<void>;
  end(story: Story, position: number, run: RunOptions): Promise<void>;
}

export const NONE: Disturbance = { name: "all are up", begin: () => Promise.resolve(), end: () => Promise.resolve() };
export const STOP: Disturbance = {
  name: "is stopped for a while",
  begin: (story, position) => story.stop(position),
  end: (story, position, run) => story.restart(position, run),
};
export const CRASH: Disturbance = {
  ...STOP,
  name: "crashes and comes back",
  begin: async (story, position) => {
    story.server(position).crash();
    // Whoever leads next must have taken over before anything is expected.
    await story.pass(1);
  },
};

export function runsOf({ serving, other }: Case, { order }: Lineup, gate: Gate = "on"): RunOptions[] {
  return order.map((who) => withGate(gate, who === "serving" ? serving : other));
}

export function scenes(count: number, prefix: string, thing: Thing): Scene[] {
  return Array.from({ length: count }, (_, index) => ({ namespace: `${prefix}-${index}`, thing }));
}

export interface Played {
  readonly outcome: () => Outcome;
  /** Of the namespaces that were deleted, at the end of the disturbance. */
  readonly complaints: readonly string[];
  readonly unread: readonly string[];
}

/** Through every server: what is made, and what is deleted while the disturbance lasts. */
export async function play(
  story: Story,
  { thing }: Case,
  disturbed: { readonly by: Disturbance; readonly position: number; readonly run: RunOptions },
): Promise<Played> {
  const { by, position, run } = disturbed;
  const kept = scenes(story.servers.length, "kept", thing);
  const doomed = scenes(story.servers.length, "doomed", thing);
  for (const index of story.servers.keys()) {
    await fill(story, index, kept[index]!);
    await fill(story, index, doomed[index]!);
  }
  await story.pass(10);
  await by.begin(story, position);
  const refused: Wish[] = [];
  const deleted: DeletedNamespace[] = [];
  for (const [index, { namespace: name }] of doomed.entries()) {
    refused.push(...(await leave(story, index, kept[index]!)));
    await story.deleteNamespace(index, name);
    deleted.push({ name, atMs: story.nowMs });
  }
  await story.pass(OUTAGE_SECONDS);
  const complaints = doomed.map(({ namespace }) => story.complaints(namespace));
  await by.end(story, position, run);
  await insistOn(story, refused);
  await story.pass(AFTERWARDS_SECONDS);
  const unread = await unreadThroughEveryServer(story, kept);
  return { outcome: () => outcomeOf(story, { kept, deleted }), complaints, unread };
}

/** The owners that are there, and who does not show them. */
async function unreadThroughEveryServer(story: Story, kept: readonly Scene[]): Promise<string[]> {
  const unread: string[] = [];
  for (const server of story.servers)
    for (const { thing, namespace } of kept) {
      const target = pathOf(thing, namespace, "owner");
      const { status } = await story.ask(server, { method: "GET", target, thing });
      if (status !== 200) unread.push(`${server.id} answers ${status} to ${target}`);
    }
  return unread;
}
