import { expect, test } from "vitest";
import { simulate } from "../../src/tools/simulator/cluster.ts";
import type { Commit } from "../../src/tools/simulator/history.ts";

const isStorageVersion = (key: string): boolean => key.startsWith("storageversions/");

test.each([
  { side: "before", made: 3 },
  { side: "after", made: 4 },
] as const)(
  "a server that is made to crash $side the commit of its fourth change of a StorageVersion has committed $made of them",
  async ({ side, made }) => {
    const cluster = simulate({ seed: 1 });
    const changes: Commit[] = [];
    let crashes = 0;
    cluster.history.onCommit((commit) => void (isStorageVersion(commit.key) && changes.push(commit)));
    const server = cluster.place();
    server.crashAt({ what: "a storage version", matches: isStorageVersion, skip: 3, side, onCrash: () => crashes++ });
    await server.start({ release: "1.36" });
    await cluster.advance({ seconds: 10 });
    expect({ crashes, made: changes.length, run: server.run }).toEqual({ crashes: 1, made, run: undefined });
    expect(new Set(changes.map(({ sending }) => sending?.serverId))).toEqual(new Set([server.id]));
  },
);

test("a server that crashed while it published its storage versions publishes them after a restart", async () => {
  const cluster = simulate({ seed: 1 });
  const server = cluster.place();
  server.crashAt({ what: "anything", matches: isStorageVersion, skip: 20, side: "after", onCrash: () => {} });
  await server.start({ release: "1.36" });
  await cluster.advance({ seconds: 5 });
  await cluster.restart(server, { release: "1.33" });
  const entries = cluster.history.under("storageversions/").map(([, object]) => JSON.stringify(object["status"]));
  expect(entries.filter((status) => status.includes(server.id)).length).toBeGreaterThan(40);
  cluster.shutDown();
});
