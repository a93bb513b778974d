/** Tests of owners, dependents and namespaces in clusters whose servers serve different resources. */
import { describe, expect, test } from "vitest";
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import {
  AFTERWARDS_SECONDS,
  ALPHA,
  CRASH,
  INTRODUCED,
  NONE,
  OTHER_LEADS,
  OUTAGE_SECONDS,
  play,
  REMOVED,
  runsOf,
  scenes,
  SERVING_LEADS,
  STOP,
  SWITCHED_OFF,
  UNCHANGED,
  type Case,
  type Disturbance,
  type Lineup,
} from "./cases.ts";
import {
  fill,
  retryUntilDone,
  leave,
  NOTHING_WRONG,
  outcomeOf,
  type DeletedNamespace,
  type Outcome,
  type Scene,
  type RetriedRequest,
} from "./scenes.ts";
import { Story, type StoryResponse } from "./story.ts";
import { CLAIM_PARAMETERS } from "./things.ts";

const PLAYED: readonly (readonly [Case, Disturbance, Lineup])[] = [
  ...[REMOVED, INTRODUCED, SWITCHED_OFF].map((one) => [one, NONE, OTHER_LEADS] as const),
  ...[REMOVED, INTRODUCED, UNCHANGED].map((one) => [one, STOP, OTHER_LEADS] as const),
  ...[REMOVED, INTRODUCED, SWITCHED_OFF].map((one) => [one, STOP, SERVING_LEADS] as const),
  ...[REMOVED, INTRODUCED, UNCHANGED].map((one) => [one, CRASH, SERVING_LEADS] as const),
];
const TABLE = PLAYED.map(
  ([one, by, lineup]) => [`${one.name}; ${lineup.leader} leads; ${by.name}`, { one, by, lineup }] as const,
);

describe("no object is collected too early, left behind, or kept for longer than the outage:", () => {
  test.each(TABLE)("%s", async (_, { one, lineup, by }) => {
    const story = await Story.begin(runsOf(one, lineup));
    const position = lineup.order.indexOf(one.disturbed);
    const { outcome, complaints, unread } = await play(story, one, { by, position, run: one[one.disturbed] });
    expect(outcome()).toEqual(NOTHING_WRONG);
    expect(unread).toEqual([]);
    for (const complaint of complaints) {
      if (by === NONE || one === UNCHANGED) expect(complaint).toBe("");
      else expect(complaint).toContain(`${one.thing.group}: server-${position + 1} `);
    }
  });
});

describe("without the mixed version proxy,", () => {
  async function playWithout(one: Case): Promise<Outcome> {
    const story = await Story.begin(runsOf(one, OTHER_LEADS, "off"));
    const { outcome } = await play(story, one, { by: NONE, position: 0, run: one.other });
    return outcome();
  }

  test.each([REMOVED, SWITCHED_OFF, INTRODUCED])(
    "objects and namespaces remain that should be deleted: $name",
    async (one) => {
      const { falseNotFound, stuck, uncollected, broken, lost } = await playWithout(one);
      // False 404s of client requests through the two servers that do not serve the resource.
      expect(falseNotFound.length).toBeGreaterThan(0);
      // All three deleted namespaces stay, because the leader does not know that another server could delete their
      // remaining objects.
      expect(stuck).toHaveLength(3);
      // Each of the three namespaces that are not deleted keeps six objects: dependents of deleted owners, their own
      // dependents, and an owner in foreground deletion with its dependent.
      expect(uncollected).toHaveLength(18);
      // No object is deleted that should stay, because the controllers do not treat every 404 as proof and check the
      // store before they finalize a namespace.
      expect({ broken, lost }).toEqual({ broken: [], lost: [] });
    },
  );

  test(`all objects and namespaces are deleted if all servers serve their resources: ${UNCHANGED.name}`, async () => {
    expect(await playWithout(UNCHANGED)).toEqual(NOTHING_WRONG);
  });
});

describe("in a rolling upgrade, with namespaces and owners deleted before, during and after the absence of each server,", () => {
  /** Upgrades one server after the other. Returns the rejected deletions, so that the caller can retry them. */
  async function roll(story: Story, { thing }: Case, to: RunOptions): Promise<Rolled> {
    const kept = scenes(story.servers.length, "kept", thing);
    const doomed = scenes(3 * story.servers.length, "doomed", thing);
    for (const [index, scene] of [...kept, ...doomed].entries()) await fill(story, index % kept.length, scene);
    const deleted: DeletedNamespace[] = [];
    const rejected: RetriedRequest[] = [];
    const deleteNext = async (index: number): Promise<void> => {
      const { namespace: name } = doomed[deleted.length]!;
      await story.deleteNamespace(index, name);
      deleted.push({ name, atMs: story.nowMs });
      await story.pass(2);
    };
    for (const index of story.servers.keys()) {
      await deleteNext(index);
      await story.stop(index);
      await deleteNext(index);
      rejected.push(...(await leave(story, index, kept[index]!)));
      await story.pass(5);
      await story.restart(index, to);
      await deleteNext(index);
      await story.pass(5);
    }
    return { kept, deleted, refused: rejected };
  }

  interface Rolled {
    readonly kept: readonly Scene[];
    readonly deleted: readonly DeletedNamespace[];
    readonly refused: readonly RetriedRequest[];
  }

  test.each([INTRODUCED, UNCHANGED])("no guarantee is broken: $name", async (one) => {
    const story = await Story.begin([one.serving, one.other, one.other]);
    const { refused, ...rolled } = await roll(story, one, one.serving);
    await retryUntilDone(story, refused);
    await story.pass(AFTERWARDS_SECONDS);
    expect(outcomeOf(story, rolled)).toEqual(NOTHING_WRONG);
  });

  test.each([REMOVED, SWITCHED_OFF])(
    "objects of a resource that no server serves stay until a server serves it again: $name",
    async (one) => {
      const story = await Story.begin([one.serving, one.serving, one.serving]);
      const { refused, ...rolled } = await roll(story, one, one.other);
      await story.pass(OUTAGE_SECONDS);
      const { stuck, uncollected, ...rest } = outcomeOf(story, rolled);
      expect(rest).toEqual({ broken: [], falseNotFound: [], lost: [] });
      // The two namespaces that were deleted after the last server of the resource had stopped.
      expect(stuck.map((complaint) => complaint.includes(`${one.thing.group}: server-3 departed`))).toEqual([
        true,
        true,
      ]);
      expect(uncollected).toHaveLength(7);
      await story.stop(0);
      await story.restart(0, one.serving);
      await retryUntilDone(story, refused);
      await story.pass(AFTERWARDS_SECONDS);
      expect(outcomeOf(story, rolled)).toEqual(NOTHING_WRONG);
    },
  );
});

test("objects of a resource that no server serves any more block the deletion of a namespace until they are purged, and after the grace period a condition names the command", async () => {
  const story = await Story.begin([ALPHA, { release: "1.31" }], { timing: { departedGraceMs: 30_000 } });
  const scene: Scene = { namespace: "doomed", thing: CLAIM_PARAMETERS };
  const purge = (method: string, token = ""): Promise<StoryResponse> =>
    story.ask(story.running(0), {
      ...{ method, target: `/evenkeel/v1/purge-namespace?namespace=doomed&token=${encodeURIComponent(token)}` },
    });
  await fill(story, 0, scene);
  await story.stop(0);
  await story.restart(0, { release: "1.31" });
  await story.deleteNamespace(0, "doomed");
  await story.pass(20);
  expect(story.complaints("doomed")).toContain("server-1 departed at");
  expect((await purge("GET")).body).toMatchObject({ keys: [] });
  await story.pass(60);
  expect(story.complaints("doomed")).toContain("evenkeel purge-namespace doomed");
  const { token, keys } = (await purge("GET")).body;
  expect(keys).toHaveLength(5);
  expect((await purge("POST", String(token))).body).toMatchObject({ removed: 5 });
  await story.pass(AFTERWARDS_SECONDS);
  expect(story.witness.goneAtMs.has("doomed")).toBe(true);
  expect(story.witness.broken).toEqual([]);
});
