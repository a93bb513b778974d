import { expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { createClient } from "../../../client/client.ts";
import { ScriptedTransport, type Reply } from "../../../../test/testing/client/scripted-transport.ts";
import { World } from "../../../tools/simulator/world.ts";
import { OwnerGraph, type GraphNode } from "./graph.ts";
import { InvalidOwnerReports } from "./invalid-owner-reports.ts";
import { LruSet } from "./lru-set.ts";
import { ServedResources } from "./served-resources.ts";
import { ManualResources } from "../../../../test/testing/cluster/controllers/garbage-collector/manual-resources.ts";

const SIGNAL = new AbortController().signal;

/** Returns `count` objects whose owner is in another namespace. */
function wrong(count: number): GraphNode[] {
  const graph = new OwnerGraph(() => {});
  const resource = { group: "", resource: "configmaps", kind: "ConfigMap", namespaced: true };
  const owners = [{ uid: "owner", group: "", kind: "ConfigMap", name: "owner", blocks: false }];
  graph.observe(resource, { uid: "owner", name: "owner", namespace: "a", owners: [], deletion: "none" });
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  for (const name of names) graph.observe(resource, { uid: name, name, namespace: "b", owners, deletion: "none" });
  return names.map((name) => graph.get(name)!);
}

function reporting(): { world: World; transport: ScriptedTransport; report: (node: GraphNode) => Promise<void> } {
  const world = new World({ seed: 1 });
  const { clock } = world;
  const random = world.randomFor("reports");
  const transport = new ScriptedTransport(...Array.from({ length: 100 }, (): Reply => ({ status: 201, body: {} })));
  const client = createClient({ transport, clock, random, defaults: { retriesMax: 0 } });
  const served = new ServedResources(new ManualResources([]));
  const reports = new InvalidOwnerReports({ client, served, clock, random, log: SILENT_LOG });
  return { world, transport, report: (node) => world.run(reports.report(node, SIGNAL)) };
}

test("each invalid reference is reported once, at most 25 in a row", async () => {
  const { world, transport, report } = reporting();
  const nodes = wrong(40);
  for (const node of nodes) await report(node);
  for (const node of nodes.slice(0, 5)) await report(node);
  expect(transport.requests).toHaveLength(25);
  await world.advance(20_000);
  for (const node of nodes) await report(node);
  expect(transport.requests).toHaveLength(27);
  expect(new Set(transport.requests.map(({ body }) => new TextDecoder().decode(body))).size).toBe(27);
});

test("LruSet evicts the least recently used key", () => {
  const set = new LruSet(2);
  set.add("a");
  set.add("b");
  expect(set.has("a")).toBe(true);
  set.add("c");
  expect([set.has("a"), set.has("b"), set.has("c"), set.size]).toEqual([true, false, true, 2]);
});
