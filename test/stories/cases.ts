/**
 * The mixed clusters in which the stories (tests that replay an incident of a controller) run, and the faults that
 * occur in them.
 */
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import {
  fill,
  retryUntilDone,
  leave,
  outcomeOf,
  type DeletedNamespace,
  type Outcome,
  type Scene,
  type RetriedRequest,
} from "./scenes.ts";
import { withGate, type Gate, type Story } from "./story.ts";
import { CLAIM, CLAIM_PARAMETERS, DEPLOYMENT, JOB, pathOf, type Thing } from "./things.ts";

export interface Case {
  readonly name: string;
  readonly thing: Thing;
  /** Options of a server that serves the resource `thing`. */
  readonly serving: RunOptions;
  /** Options of a server that does not serve `thing`, except in the case UNCHANGED. */
  readonly other: RunOptions;
  /** Which of the two servers the fault affects. */
  readonly disturbed: "serving" | "other";
}

export const ALPHA = { release: "1.30", runtimeConfig: ["resource.k8s.io/v1alpha2=true"] } as const;
const WITHOUT_BATCH = { release: "1.36", runtimeConfig: ["batch/v1=false"] } as const;

export const REMOVED: Case = {
  ...{ name: "resourceclaimparameters, which 1.30 serves and 1.31 does not", thing: CLAIM_PARAMETERS },
  ...{ serving: ALPHA, other: { release: "1.31" }, disturbed: "serving" },
};
export const SWITCHED_OFF: Case = {
  ...{ name: "jobs, which one server of 1.36 serves and another does not (batch/v1=false)", thing: JOB },
  ...{ serving: { release: "1.36" }, other: WITHOUT_BATCH, disturbed: "serving" },
};
export const INTRODUCED: Case = {
  ...{ name: "resourceclaims v1, which 1.34 serves and 1.33 does not", thing: CLAIM },
  ...{ serving: { release: "1.34" }, other: { release: "1.33" }, disturbed: "serving" },
};
export const UNCHANGED: Case = {
  ...{ name: "deployments and configmaps, which 1.33 and 1.34 serve", thing: DEPLOYMENT },
  // The fault affects a server without which all resources are still served, so clients must not notice it.
  ...{ serving: { release: "1.34" }, other: { release: "1.33" }, disturbed: "other" },
};

/**
 * The order in which servers start. The first server leads the controllers: in one lineup it serves the resource, in
 * the other it does not.
 */
export interface Lineup {
  readonly leader: string;
  readonly order: readonly ("serving" | "other")[];
}
export const SERVING_LEADS: Lineup = {
  leader: "a server that serves the resource",
  order: ["serving", "other", "other"],
};
export const OTHER_LEADS: Lineup = { leader: "another server", order: ["other", "other", "serving"] };

export const OUTAGE_SECONDS = 40;
/** Longer than the deletion of a namespace may take, so that a deletion that is only slow has ended by then. */
export const AFTERWARDS_SECONDS = 25;

/** A fault of the server at a position of the lineup, from `begin` to `end`. */
export interface Disturbance {
  readonly name: string;
  begin(story: Story, position: number): Promise<void>;
  end(story: Story, position: number, run: RunOptions): Promise<void>;
}

export const NONE: Disturbance = {
  name: "all servers are live",
  begin: () => Promise.resolve(),
  end: () => Promise.resolve(),
};
export const STOP: Disturbance = {
  name: "one server is stopped for a while",
  begin: (story, position) => story.stop(position),
  end: (story, position, run) => story.restart(position, run),
};
export const CRASH: Disturbance = {
  ...STOP,
  name: "one server crashes and restarts",
  begin: async (story, position) => {
    story.server(position).crash();
    // Time passes before the first deletion, so that the deletions are sent after the crash.
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
  /** The messages of the conditions of each deleted namespace, at the end of the fault. */
  readonly complaints: readonly string[];
  readonly unread: readonly string[];
}

/** Creates objects through every server, deletes some of them during the fault, and checks the rest afterwards. */
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
  const rejected: RetriedRequest[] = [];
  const deleted: DeletedNamespace[] = [];
  for (const [index, { namespace: name }] of doomed.entries()) {
    rejected.push(...(await leave(story, index, kept[index]!)));
    await story.deleteNamespace(index, name);
    deleted.push({ name, atMs: story.nowMs });
  }
  await story.pass(OUTAGE_SECONDS);
  const complaints = doomed.map(({ namespace }) => story.complaints(namespace));
  await by.end(story, position, run);
  await retryUntilDone(story, rejected);
  await story.pass(AFTERWARDS_SECONDS);
  const unread = await unreadableOwners(story, kept);
  return { outcome: () => outcomeOf(story, { kept, deleted }), complaints, unread };
}

/** The owners that should still exist and that a server does not return, with the status that it returns. */
async function unreadableOwners(story: Story, kept: readonly Scene[]): Promise<string[]> {
  const unread: string[] = [];
  for (const server of story.servers)
    for (const { thing, namespace } of kept) {
      const target = pathOf(thing, namespace, "owner");
      const { status } = await story.ask(server, { method: "GET", target, thing });
      if (status !== 200) unread.push(`${server.id} returns ${status} for ${target}`);
    }
  return unread;
}
