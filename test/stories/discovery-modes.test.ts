/**
 * Tests of the garbage collector and the namespace controller in the three cases of KEP-4020's first design. Evenkeel's
 * controllers, which know the resources of all servers, run with the discovery of the newest server; controllers that
 * rely on discovery run with that discovery and with merged discovery.
 */
import { describe, expect, test } from "vitest";
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import { INTRODUCED, NONE, OTHER_LEADS, play, REMOVED, runsOf, scenes, STOP, UNCHANGED, type Case } from "./cases.ts";
import { fill, keysFound, keysKept, leave, NOTHING_WRONG } from "./scenes.ts";
import { Story } from "./story.ts";
import { TrustingControllers } from "./trusting-controllers.ts";

type Mode = "merged" | "newest";
const MODES: readonly Mode[] = ["merged", "newest"];

function inMode(discoveryMode: Mode, one: Case): Case {
  const withMode = (run: RunOptions): RunOptions => ({ ...run, peers: { discoveryMode } });
  return { ...one, serving: withMode(one.serving), other: withMode(one.other) };
}

/**
 * The cases of the design: the newer release has removed the resource, has introduced it, or both releases serve it.
 */
const CASES = [REMOVED, INTRODUCED, UNCHANGED] as const;

describe("Evenkeel's controllers violate no guarantee with discovery mode", () => {
  const played = [NONE, STOP].flatMap((by) => CASES.map((one) => [one.name, by.name, { one, by }] as const));
  test.each(played)("newest: %s; %s", async (_name, _by, { one, by }) => {
    const own = inMode("newest", one);
    const story = await Story.begin(runsOf(own, OTHER_LEADS));
    const position = OTHER_LEADS.order.indexOf(own.disturbed);
    const { outcome, unread } = await play(story, own, { by, position, run: own[own.disturbed] });
    expect(outcome()).toEqual(NOTHING_WRONG);
    expect(unread).toEqual([]);
  });
});

/** Disables Evenkeel's garbage collector and namespace controller, as if a kube-controller-manager ran instead. */
const NO_CONTROLLERS = ["*", "-garbage-collector-controller", "-namespace-controller"];

interface Left {
  readonly story: Story;
  /** Deleted namespaces that still exist. */
  readonly stuck: readonly string[];
  /** The objects that remain in these namespaces. */
  readonly held: readonly string[];
  /** Objects that the garbage collector should have deleted. */
  readonly uncollected: readonly string[];
  readonly lost: readonly string[];
}

/** Runs controllers that rely on the discovery of one server. This server does not serve the resource itself. */
async function runWithTrustingControllers(mode: Mode, one: Case): Promise<Left> {
  const runs = runsOf(inMode(mode, one), OTHER_LEADS).map((run) => ({ ...run, controllers: NO_CONTROLLERS }));
  const story = await Story.begin(runs);
  const [kept, doomed] = [scenes(1, "kept", one.thing)[0]!, scenes(1, "doomed", one.thing)[0]!];
  for (const scene of [kept, doomed]) await fill(story, 0, scene);
  expect(await leave(story, 0, kept)).toEqual([]);
  await story.deleteNamespace(0, doomed.namespace);
  const controllers = new TrustingControllers(story, 0);
  await controllers.work({ deleted: [doomed.namespace], collectIn: [kept.namespace] });
  const isGone = story.witness.goneAtMs.has(doomed.namespace);
  return {
    story,
    stuck: isGone ? [] : [doomed.namespace],
    held: keysFound(story, doomed),
    uncollected: keysFound(story, kept).filter((key) => !keysKept(kept).includes(key)),
    lost: keysKept(kept).filter((key) => !keysFound(story, kept).includes(key)),
  };
}

describe("controllers that rely on discovery", () => {
  const harmless = [
    ...MODES.flatMap((mode) => [INTRODUCED, UNCHANGED].map((one) => [mode, one.name, one] as const)),
    ["merged", REMOVED.name, REMOVED] as const,
  ];
  test.each(harmless)("complete their work in mode %s: %s", async (mode, _name, one) => {
    const { story, ...left } = await runWithTrustingControllers(mode, one);
    expect(left).toEqual({ stuck: [], held: [], uncollected: [], lost: [] });
    expect(story.witness.broken).toEqual([]);
  });

  test.each(MODES)(
    "in mode %s lose no object while the only server of a resource is down, and only in mode newest try to finalize the namespace before that server has returned",
    async (mode) => {
      const runs = runsOf(inMode(mode, INTRODUCED), OTHER_LEADS).map((run) => ({
        ...run,
        controllers: NO_CONTROLLERS,
      }));
      const story = await Story.begin(runs);
      const doomed = scenes(1, "doomed", INTRODUCED.thing)[0]!;
      await fill(story, 0, doomed);
      story.server(2).crash();
      await story.pass(3);
      await story.deleteNamespace(0, doomed.namespace);
      const controllers = new TrustingControllers(story, 0);
      await controllers.work({ deleted: [doomed.namespace], collectIn: [], rounds: 3 });
      expect(controllers.finalizeAttempts > 0).toBe(mode === "newest");
      await controllers.work({ deleted: [doomed.namespace], collectIn: [] });
      expect(keysFound(story, doomed)).toHaveLength(5);
      await story.restart(2, runs[2]!);
      await story.pass(10);
      await controllers.work({ deleted: [doomed.namespace], collectIn: [] });
      expect(story.witness.goneAtMs.has(doomed.namespace)).toBe(true);
      expect(story.witness.broken).toEqual([]);
    },
  );

  test("in mode newest do not see resources that only older servers serve, and leave objects of these resources and their dependents", async () => {
    const { story, stuck, held, uncollected, lost } = await runWithTrustingControllers("newest", REMOVED);
    const { prefix } = REMOVED.thing;
    // The controllers try to finalize the namespace, but the server rejects that while the store contains objects of
    // the namespace.
    expect(stuck).toEqual(["doomed-0"]);
    expect(held.map((key) => key.slice(0, key.indexOf("/")))).toEqual(held.map(() => prefix));
    expect(held).toHaveLength(5);
    // Dependents of deleted owners whose kind the controllers do not know, an owner of that kind in foreground
    // deletion, and a dependent of that kind with its own dependent.
    expect(uncollected).toEqual([
      "configmaps/kept-0/of-leaving",
      "configmaps/kept-0/of-leaving-last",
      "configmaps/kept-0/of-of-plain-leaving",
      "deployments/kept-0/of-leaving",
      `${prefix}/kept-0/leaving-last`,
      `${prefix}/kept-0/of-plain-leaving`,
    ]);
    // The controllers do not treat an owner of an unknown kind as deleted, so they delete no object that should stay.
    expect(lost).toEqual([]);
    expect(story.witness.broken).toEqual([]);
  });
});
