import { expect, test } from "vitest";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { forgetsPeers } from "../simulator/planted-bugs.ts";
import { writesOtherVersion } from "../simulator/planted-storage-bugs.ts";
import { Load } from "./load.ts";

/**
 * Upgrade, rollback, and upgrade again. These two releases serve the same resources, and store some of them in
 * different versions.
 */
const SAME_API = ["1.34", "1.35", "1.34", "1.35"] as const;
/** The newer release serves additional resources, which appear, disappear and appear again. */
const OTHER_API = ["1.33", "1.34", "1.33", "1.34"] as const;
const SERVERS = 3;

async function roll([first, ...then]: readonly string[], plant: Plant = {}): Promise<Load> {
  const load = new Load(plant);
  const { cluster } = load;
  for (let index = 0; index < SERVERS; index++) await cluster.addServer({ release: first! });
  load.start();
  await cluster.advance({ seconds: 5 });
  for (const release of then)
    for (const server of cluster.servers) {
      await cluster.stop(server);
      await cluster.advance({ seconds: 2 });
      await cluster.restart(server, { release });
      await cluster.advance({ seconds: 5 });
    }
  await load.finish();
  return load;
}

test.each([SAME_API, OTHER_API])(
  "the rolling upgrades and rollbacks %s → %s → %s → %s of three servers under load cause no wrong response",
  async (...way) => {
    const { wrong, statuses, cluster, compared } = await roll(way);
    expect(wrong).toEqual([]);
    expect(cluster.runs.filter(({ readyAtMs }) => readyAtMs !== undefined)).toHaveLength(SERVERS * way.length);
    expect(statuses.get(200)).toBeGreaterThan(100);
    expect(statuses.get(201)).toBeGreaterThan(20);
    expect(compared).toBeGreaterThan(20);
  },
);

test.each([
  ["return 404 instead of the response of a peer", OTHER_API, forgetsPeers, "no-false-404"],
  ["write in an unpublished version", SAME_API, writesOtherVersion, "written-as-published"],
] as const)("a checker detects servers that %s during the first upgrade", async (_, way, plant, checker) => {
  const { wrong } = await roll(way.slice(0, 2), plant());
  expect(wrong.some((what) => what.startsWith(checker))).toBe(true);
});
