import { expect, test } from "vitest";
import { writtenAsPublished } from "./checkers/written-as-published.ts";
import { simulate, type Plant, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { EncodingRecord } from "./encoding-record.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { STORE_IS_FINE } from "../../src/tools/simulator/store-link.ts";
import { ignoresGuards } from "./planted-storage-bugs.ts";

const CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";

interface Outcome {
  readonly status: number;
  readonly broken: readonly string[];
}

/**
 * Lets a server try to write an object in a version that a new peer cannot read. The watches of the server are held
 * back, so that it has not received the entry of the peer.
 */
async function writeWithStaleView(plant: Plant): Promise<Outcome> {
  const cluster = simulate({ seed: 1, plant });
  const { history, runs, timing } = cluster;
  const checker = writtenAsPublished(new EncodingRecord({ history, runs, fenceAfterMs: timing.fenceAfterMs }));
  const broken: string[] = [];
  history.onCommit((commit) => void broken.push(...(checker.onCommit?.(commit) ?? [])));
  const newer = await cluster.addServer({ release: "1.35" });
  await cluster.settle();
  newer.setStoreFault({ ...STORE_IS_FINE, isLagging: true });
  await cluster.addServer({ release: "1.33", runtimeConfig: ["api/beta=true"] });
  const status = await create(cluster, newer);
  cluster.shutDown();
  return { status, broken };
}

async function create(cluster: SimulatedCluster, server: SimulatedServer): Promise<number> {
  const asking = server.request({ method: "POST", target: CLASSES, body: { metadata: { name: "one" }, spec: {} } });
  const { status } = await cluster.world.run(asking);
  return status;
}

test("a write is rejected if a peer that cannot read it has published its entry, even if the writer has not received the entry yet", async () => {
  expect(await writeWithStaleView({})).toEqual({ status: 503, broken: [] });
});

test("if the store ignores guards, it commits a write that a peer cannot read", async () => {
  const { status, broken } = await writeWithStaleView(ignoresGuards());
  expect(status).toBe(201);
  expect(broken.join()).toContain("cannot read");
});
