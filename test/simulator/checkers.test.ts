import { describe, expect, test } from "vitest";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import type { FaultName, Swarm } from "./nemesis.ts";
import { NO_FAULTS } from "../../src/tools/simulator/network.ts";
import { runSeed } from "./run-seed.ts";
import {
  deletesTwice,
  forgetsPeers,
  forgetsWrites,
  leavesOneOut,
  losesGuard,
  rejectsLists,
  returnsOtherVersions,
  sendsInCircles,
  staysUnready,
  changesDiscovery,
} from "./planted-bugs.ts";
import { overlooksContent, removesNothing, treatsUnknownAsAbsent } from "./planted-controller-bugs.ts";
import {
  removesEntriesOfPeers,
  migratesNothing,
  movesBack,
  missesItsPause,
  cannotPublish,
  missesRestores,
  writesOtherVersion,
} from "./planted-storage-bugs.ts";

/** The cluster has no faults except the planted bug. */
const CALM: Partial<Swarm> = { rates: NO_FAULTS, faultEveryMs: 1e9, delayMsMax: 5, probeIntervalMs: 2_000 };
/** A seed whose servers serve different resources. */
const SEED = 3;

/** The checkers that report a violation, until one of them is the expected one. */
async function broken(
  plant: Plant,
  {
    expected,
    ...options
  }: { readonly expected?: string; readonly swarm?: Partial<Swarm>; readonly seed?: number } = {},
): Promise<ReadonlySet<string>> {
  const { seed = SEED, swarm = {} } = options;
  const endOnceFound = expected === undefined ? {} : { endOnceFound: [expected] };
  const { violations } = await runSeed({ seed, minutes: 3, plant, swarm: { ...CALM, ...swarm }, ...endOnceFound });
  return new Set(violations.map(({ checker }) => checker));
}

const PLANTED: readonly (readonly [checker: string, bug: () => Plant])[] = [
  ["no-false-404", forgetsPeers],
  ["at-most-one-hop", losesGuard],
  ["no-circle", sendsInCircles],
  ["sent-once", deletesTwice],
  ["no-lost-write", forgetsWrites],
  ["ready-again", staysUnready],
  ["served-is-listed", leavesOneOut],
  ["listed-is-reachable", rejectsLists],
  ["documents-equal", changesDiscovery],
  ["written-as-published", writesOtherVersion],
  ["nobody-contradicts", removesEntriesOfPeers],
  ["migrated-is-migrated", migratesNothing],
  ["encodings-settle", cannotPublish],
  ["garbage-goes", () => removesNothing("/registry/configmaps/space-")],
  ["namespaces-go", () => removesNothing("/registry/namespaces/")],
];

const often = (fault: FaultName): Partial<Swarm> => ({ faults: [fault], faultEveryMs: 10_000 });

/** Bugs that cause a violation only by chance, some of them only together with a fault. */
const PLANTED_FOR_CHANCE: readonly (readonly [checker: string, bug: () => Plant, swarm: Partial<Swarm>])[] = [
  ["never-back", movesBack, often("crash")],
  ["fenced-until-published", missesItsPause, often("pause")],
  ["collected-is-garbage", treatsUnknownAsAbsent, {}],
  ["namespaces-empty", overlooksContent, {}],
];
const SEEDS_MAX = 5;

describe("a planted bug is reported by the checker", () => {
  test.each(PLANTED)("%s", async (checker, bug) => {
    expect(await broken(bug(), { expected: checker })).toContain(checker);
  });
});

describe("a planted bug is reported within five seeds by the checker", () => {
  test.each(PLANTED_FOR_CHANCE)("%s", async (checker, bug, swarm) => {
    const found = new Set<string>();
    for (let seed = 1; seed <= SEEDS_MAX && !found.has(checker); seed++)
      for (const name of await broken(bug(), { expected: checker, swarm, seed })) found.add(name);
    expect(found).toContain(checker);
  });
});

test("a server that does not notice restores, and one that returns other versions, are reported within five seeds by all checkers of histories", async () => {
  const missing = new Set([
    ...["fenced-until-published", "informers-recover", "no-lost-write"],
    ...["reads-are-current", "restores-end-watches", "sent-once"],
  ]);
  for (let seed = 1; seed <= SEEDS_MAX && missing.size > 0; seed++) {
    const { violations } = await runSeed({
      ...{ seed, minutes: 2, servers: 2, restores: true, endOnceFound: [...missing] },
      ...{ plant: { ...missesRestores(), ...returnsOtherVersions() }, swarm: CALM },
    });
    for (const { checker } of violations) missing.delete(checker);
  }
  expect([...missing]).toEqual([]);
});

test("a correct cluster without faults causes no violation", async () => {
  expect([...(await broken({}))]).toEqual([]);
});
