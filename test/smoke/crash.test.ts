/** Tests the guarantee of the embedded store: an acknowledged write survives a kill of the process at any time. */
import { describe, expect, test } from "vitest";
import { configMap, CONFIG_MAPS, Tally } from "./client.ts";
import { disposableDirectory, startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

const ROUNDS = 10;
const WRITERS = 8;
/**
 * Number of acknowledged creates before the kill. It differs among rounds, so that the kills occur at different
 * moments.
 */
const acknowledgedUntilKill = (round: number): number => 60 + 37 * round;

describe("kill -9 during a stream of creates", { timeout: 60_000 }, () => {
  test("loses no acknowledged object in ten rounds, and resourceVersions never decrease", async () => {
    using directory = disposableDirectory();
    const acknowledged = new Map<string, number>();
    const responses = new Tally();
    let newest = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      await using server = await startEvenkeel({ dataDir: directory.path });
      const first = await server.request("POST", CONFIG_MAPS, configMap(`first-${round}`));
      expect(first.status).toBe(201);
      expect(versionOf(first.body)).toBeGreaterThan(newest);
      await expectAll(server, acknowledged);
      if (round === ROUNDS) break;
      await writeUntilKilled(server, { round, acknowledged, answers: responses });
      newest = Math.max(newest, ...acknowledged.values());
    }
    console.info(
      `kill -9: ${acknowledged.size} acknowledged creates over ${ROUNDS} kills, responses ${JSON.stringify(responses.counts)}`,
    );
    expect(Object.keys(responses.counts).sort()).toEqual(["201", "cut off"]);
    expect(responses.counts["cut off"]).toBeLessThanOrEqual(ROUNDS * WRITERS);
  });
});

interface Round {
  readonly round: number;
  readonly acknowledged: Map<string, number>;
  readonly answers: Tally;
}

async function writeUntilKilled(server: Evenkeel, { round, acknowledged, answers }: Round): Promise<void> {
  let count = 0;
  const write = async (writer: number): Promise<void> => {
    for (let index = 0; ; index++) {
      const name = `r${round}-w${writer}-${index}`;
      try {
        const { status, body } = await server.request(
          "POST",
          CONFIG_MAPS,
          configMap(name, { filler: "x".repeat(2_000) }),
        );
        answers.add(status);
        if (status !== 201) return;
        acknowledged.set(name, versionOf(body));
      } catch {
        answers.add("cut off");
        return;
      }
      // At this moment the other writers have requests in flight.
      if (++count === acknowledgedUntilKill(round)) process.kill(server.pid, "SIGKILL");
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  expect(await server.command.exited).toEqual({ code: null, signal: "SIGKILL" });
}

async function expectAll(server: Evenkeel, acknowledged: ReadonlyMap<string, number>): Promise<void> {
  const list = await server.request("GET", CONFIG_MAPS);
  const present = new Map<string, number>(
    list.body.items.map((item: { metadata: { name: string } }) => [item.metadata.name, versionOf(item)]),
  );
  const lost = [...acknowledged].filter(([name, version]) => present.get(name) !== version);
  expect(lost).toEqual([]);
}

function versionOf(object: unknown): number {
  return Number((object as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
}
