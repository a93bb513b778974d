import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { createClient } from "../../../client/client.ts";
import {
  configMap,
  rejects,
  ScriptedTransport,
  type Reply,
} from "../../../../test/testing/client/scripted-transport.ts";
import { World } from "../../../tools/simulator/world.ts";
import type { ClusterResource, Doubt } from "../cluster-resources.ts";
import { OwnerGraph } from "./graph.ts";
import { Holds } from "./holds.ts";
import { LiveObjects } from "./live-objects.ts";
import { OwnerLookup, type OwnerPlace, type OwnerState } from "./owner-lookup.ts";
import { ServedResources } from "./served-resources.ts";
import {
  ALL_VERBS,
  ManualResources,
} from "../../../../test/testing/cluster/controllers/garbage-collector/manual-resources.ts";

const THINGS: ClusterResource = {
  ...{ group: "example.org", resource: "things", kind: "Thing", namespaced: true, versions: ["v2"], verbs: ALL_VERBS },
};
const OWNER: OwnerPlace = {
  ...{ uid: "uid-a", group: "example.org", kind: "Thing", name: "a", dependentNamespace: "default" },
};
const SIGNAL = new AbortController().signal;

class Looking {
  readonly world = new World({ seed: 1 });
  readonly transport: ScriptedTransport;
  readonly resources: ManualResources;
  readonly lookup: OwnerLookup;

  constructor(served: readonly ClusterResource[], ...replies: Reply[]) {
    const { clock } = this.world;
    this.transport = new ScriptedTransport(...replies);
    this.resources = new ManualResources(served);
    const random = this.world.randomFor("client");
    const metadata = createClient({ transport: this.transport, clock, random, defaults: { retriesMax: 0 } });
    const known = new ServedResources(this.resources);
    const holds = new Holds({ clock, log: SILENT_LOG });
    const objects = new LiveObjects({ metadata, served: known, holds });
    const graph = new OwnerGraph(() => {});
    this.lookup = new OwnerLookup({ resources: this.resources, served: known, objects, holds, graph });
  }

  find(more: Partial<OwnerPlace> = {}): Promise<OwnerState> {
    return this.world.run(this.lookup.find({ ...OWNER, ...more }, SIGNAL));
  }
}

function absent(kind = "things"): Reply {
  return rejects(404, "NotFound", { name: "a", group: "example.org", kind });
}

const PRESENT: Reply = { status: 200, body: configMap("a", 1) };

describe("an owner", () => {
  test("is looked up in the namespace of its dependent and in the version to use now", async () => {
    const run = new Looking([THINGS], PRESENT);
    expect(await run.find()).toEqual({ kind: "present", deletion: "none" });
    expect(run.transport.asked).toEqual(["GET /apis/example.org/v2/namespaces/default/things/a"]);
  });

  test("is looked up without a namespace if its resource is cluster-scoped", async () => {
    const run = new Looking([{ ...THINGS, namespaced: false }], PRESENT);
    await run.find();
    expect(run.transport.asked).toEqual(["GET /apis/example.org/v2/things/a"]);
  });

  test("that is absent is not looked up again, but an owner of the same name with another uid is", async () => {
    const run = new Looking([THINGS], absent(), PRESENT);
    expect(await run.find()).toEqual({ kind: "absent" });
    expect(await run.find()).toEqual({ kind: "absent" });
    expect(run.transport.requests).toHaveLength(1);
    expect(await run.find({ uid: "uid-b" })).toEqual({ kind: "absent" });
    expect(run.transport.requests).toHaveLength(2);
  });

  test("is absent only if it is absent in every resource of its kind", async () => {
    const other = { ...THINGS, resource: "otherthings" };
    expect(await new Looking([THINGS, other], absent(), PRESENT).find()).toMatchObject({ kind: "present" });
    const unavailable = rejects(503, "ServiceUnavailable");
    expect(await new Looking([THINGS, other], absent(), unavailable).find()).toMatchObject({ reason: "unavailable" });
    expect(await new Looking([THINGS, other], absent(), absent("otherthings")).find()).toEqual({ kind: "absent" });
  });

  test("with an invalid name, uid or namespace is not looked up", async () => {
    const run = new Looking([THINGS]);
    for (const name of ["", ".", "..", "a/b", "a%2fb"])
      expect(await run.find({ name }), name).toEqual({ kind: "impossible" });
    expect(await run.find({ uid: "" })).toEqual({ kind: "impossible" });
    expect(await run.find({ dependentNamespace: "" })).toEqual({ kind: "impossible" });
    expect(run.transport.requests).toHaveLength(0);
  });
});

describe("a kind that is not served", () => {
  const doubt = (group: string | undefined): Doubt => ({
    ...{
      group,
      resource: undefined,
      namespaced: undefined,
      server: "b",
      because: "has not yet published what it serves",
    },
  });

  test("makes its dependents wait while a server may serve it", async () => {
    const run = new Looking([]);
    run.resources.change({ doubts: [doubt("apps")] });
    expect(await run.find()).toMatchObject({ reason: "unknown-kind" });
    const other = new Looking([]);
    other.resources.change({ doubts: [doubt("apps"), doubt(undefined)] });
    expect(await other.find()).toMatchObject({ reason: "doubt", because: "b has not yet published what it serves" });
  });

  test("is reported as unknown only after the local server has caught up with all servers that have joined", async () => {
    const run = new Looking([]);
    run.resources.isCurrent = false;
    expect(await run.find()).toMatchObject({ reason: "doubt" });
    run.resources.isCurrent = true;
    expect(await run.find()).toMatchObject({ reason: "doubt" });
    expect(run.resources.catchUps).toBe(1);
    await run.world.advance(5_000);
    expect(await run.find()).toMatchObject({ reason: "unknown-kind" });
    expect(run.resources.catchUps).toBe(2);
  });
});
