/** Tests of the cases of KEP-4020's first design with the routing source that it planned: StorageVersion objects. */
import { expect, test } from "vitest";
import type { RunOptions } from "../../src/tools/simulator/server.ts";
import {
  CRASH,
  INTRODUCED,
  NONE,
  OTHER_LEADS,
  play,
  REMOVED,
  runsOf,
  SERVING_LEADS,
  STOP,
  SWITCHED_OFF,
  UNCHANGED,
  type Case,
} from "./cases.ts";
import { NOTHING_WRONG } from "./scenes.ts";
import { Story } from "./story.ts";

function registered(one: Case): Case {
  const withSource = (run: RunOptions): RunOptions => ({ ...run, peers: { routingSource: "storageversion" } });
  return { ...one, serving: withSource(one.serving), other: withSource(one.other) };
}

const PLAYED = [
  ...[REMOVED, INTRODUCED, SWITCHED_OFF, UNCHANGED].map((one) => [one, NONE, OTHER_LEADS] as const),
  ...[REMOVED, INTRODUCED].map((one) => [one, STOP, OTHER_LEADS] as const),
  ...[SWITCHED_OFF, UNCHANGED].map((one) => [one, CRASH, SERVING_LEADS] as const),
].map(([one, by, lineup]) => [`${one.name}; ${lineup.leader} leads; ${by.name}`, { one, by, lineup }] as const);

test.each(PLAYED)(
  "routing by StorageVersions causes no wrong response and no violation of the controllers' guarantees: %s",
  async (_, { one: plain, by, lineup }) => {
    const one = registered(plain);
    const story = await Story.begin(runsOf(one, lineup));
    const position = lineup.order.indexOf(one.disturbed);
    const { outcome, unread } = await play(story, one, { by, position, run: one[one.disturbed] });
    expect(outcome()).toEqual(NOTHING_WRONG);
    expect(unread).toEqual([]);
  },
);
