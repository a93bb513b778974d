/** Tests which requests the garbage collector sends, and in which order, to a server with scripted responses. */
import { describe, expect, test } from "vitest";
import type { KubernetesObject } from "../../../client/objects.ts";
import type { ClientRequest, Transport } from "../../../client/transport.ts";
import {
  added,
  bookmark,
  configMap,
  deleted,
  initialEnd,
  rejects,
  ScriptedStream,
  ScriptedTransport,
  type Reply,
} from "../../../../test/testing/client/scripted-transport.ts";
import { World } from "../../../tools/simulator/world.ts";
import type { ClusterResource } from "../cluster-resources.ts";
import {
  ALL_VERBS,
  ManualResources,
} from "../../../../test/testing/cluster/controllers/garbage-collector/manual-resources.ts";
import { RunningCollector } from "../../../../test/testing/cluster/controllers/garbage-collector/running-collector.ts";

const CONFIG_MAPS: ClusterResource = {
  ...{ group: "", resource: "configmaps", kind: "ConfigMap", namespaced: true, versions: ["v1"], verbs: ALL_VERBS },
};
const SECRETS: ClusterResource = { ...CONFIG_MAPS, resource: "secrets", kind: "Secret" };
const ABSENT = rejects(404, "NotFound", { name: "owner", kind: "configmaps" });

function owned(name: string, version: number, more: object = {}): KubernetesObject {
  const object = configMap(name, version);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "uid-owner" }];
  return { ...object, metadata: { ...object.metadata, ownerReferences, ...more } };
}

function responses(object: KubernetesObject): Reply {
  return { status: 200, body: object };
}

class Scripted implements AsyncDisposable {
  readonly world = new World({ seed: 1 });
  readonly transport: ScriptedTransport;
  readonly stream: ScriptedStream;
  readonly resources: ManualResources;
  readonly collector: RunningCollector;

  /** `objects` are the existing config maps, `replies` the responses to the requests after the watch. */
  constructor(objects: readonly KubernetesObject[], ...replies: Reply[]) {
    this.stream = new ScriptedStream(...objects.map(added), initialEnd(10));
    this.transport = new ScriptedTransport(this.stream, ...replies);
    this.resources = new ManualResources([CONFIG_MAPS]);
    const { world, transport, resources } = this;
    this.collector = new RunningCollector({ world, transport, resources });
  }

  /** Every request after the watch. */
  get asked(): string[] {
    return this.transport.requests.slice(1).map(({ method, target }) => `${method} ${target.split("/").at(-1)}`);
  }

  body(index: number): unknown {
    return bodyOf(this.transport.requests.at(index)!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.collector.stop();
  }
}

function bodyOf({ body }: ClientRequest): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}

describe("an object whose owner is absent", () => {
  test("is deleted in its current state, after its owner and the object itself were read", async () => {
    await using run = new Scripted([owned("child", 2)], ABSENT, responses(owned("child", 3)), { status: 200 });
    await run.world.advance(1_000);
    expect(run.asked).toEqual(["GET owner", "GET child", "DELETE child"]);
    expect(run.body(-1)).toMatchObject({
      propagationPolicy: "Background",
      preconditions: { uid: "uid-child", resourceVersion: "3" },
    });
    const metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    expect(run.transport.requests.map(({ headers }) => headers["accept"])).toEqual([
      ...Array<string>(3).fill(metadata),
      "application/json",
    ]);
  });

  test("is examined again if another client changed it meanwhile", async () => {
    const conflict = rejects(409, "Conflict");
    const looks = [responses(owned("child", 3)), conflict, responses(owned("child", 4)), { status: 200 }];
    await using run = new Scripted([owned("child", 2)], ABSENT, ...looks);
    await run.world.advance(1_000);
    expect(run.asked).toEqual(["GET owner", "GET child", "DELETE child", "GET child", "DELETE child"]);
    expect(run.body(-1)).toMatchObject({ preconditions: { resourceVersion: "4" } });
  });

  test("is kept if it has other owners or none by the time of the deletion", async () => {
    await using run = new Scripted([owned("child", 2)], ABSENT, responses(configMap("child", 3)));
    await run.world.advance(60_000);
    expect(run.asked).toEqual(["GET owner", "GET child"]);
  });

  test("is kept if another object has its name by the time of the deletion", async () => {
    await using run = new Scripted(
      [owned("child", 2)],
      ABSENT,
      responses({ ...owned("child", 3), metadata: { ...owned("child", 3).metadata, uid: "uid-of-another" } }),
    );
    await run.world.advance(60_000);
    expect(run.asked).toEqual(["GET owner", "GET child"]);
    expect(run.collector.collector.graphSize()).toEqual({ objects: 0, unseenOwners: 0, references: 0 });
  });

  test("causes one read of the owner, however many dependents the owner has", async () => {
    const children = ["a", "b", "c", "d"].map((name) => owned(name, 2));
    const looks = children.flatMap((child) => [responses(child)]);
    await using run = new Scripted(children, ABSENT, ...looks, ...children.map(() => ({ status: 200 })));
    await run.world.advance(1_000);
    expect(run.asked.filter((line) => line === "GET owner")).toHaveLength(1);
    expect(run.asked.filter((line) => line.startsWith("DELETE"))).toHaveLength(4);
  });
});

describe("an owner that no watch has shown", () => {
  test("is read once if the read fails, however many dependents wait for it, and again when the served resources change", async () => {
    const busy = rejects(503, "ServiceUnavailable", { retryAfterSeconds: 4 });
    const children = ["a", "b", "c"].map((name) => owned(name, 2));
    await using run = new Scripted(children, busy, busy, busy);
    await run.world.advance(3_000);
    expect(run.asked).toEqual(["GET owner"]);
    run.resources.change({});
    await run.world.advance(1_000);
    expect(run.asked).toEqual(["GET owner", "GET owner"]);
    expect(run.collector.logged.filter((line) => line.includes("waits for a resource"))).toHaveLength(1);
  });

  test("keeps its dependents while it exists, and is read periodically until a watch has shown it", async () => {
    await using run = new Scripted(
      [owned("child", 2)],
      responses(configMap("owner", 1)),
      responses(configMap("owner", 1)),
    );
    await run.world.advance(15_000);
    expect(run.asked).toEqual(["GET owner", "GET owner"]);
    run.stream.send(added(configMap("owner", 11)));
    await run.world.advance(60_000);
    expect(run.asked).toEqual(["GET owner", "GET owner"]);
  });
});

describe("an owner that was deleted with the policy Orphan", () => {
  test("loses its dependents: their references are removed, more dependents are searched for, and then its finalizer is removed", async () => {
    const owner = configMap("owner", 5);
    const going = { ...owner.metadata, deletionTimestamp: "2030-01-01T00:00:00Z", finalizers: ["x", "orphan"] };
    const marked = { ...owner, metadata: going };
    const empty = { status: 200, body: { kind: "ConfigMapList", metadata: {}, items: [] } };
    const patched = responses(configMap("child", 6));
    await using run = new Scripted(
      [marked, owned("child", 2)],
      responses(marked),
      responses(owned("child", 3)),
      patched,
    );
    run.transport.add(empty, responses(marked));
    await run.world.advance(1_000);
    const asked = ["GET owner", "GET child", "PATCH child?fieldManager=garbage-collector-controller"];
    expect(run.asked.slice(0, 3)).toEqual(asked);
    expect(run.asked[3]).toContain("GET configmaps?limit=500");
    expect(run.asked[4]).toContain("PATCH owner");
    expect(run.body(3)).toEqual({ metadata: { uid: "uid-child", resourceVersion: "3", ownerReferences: null } });
    expect(run.body(5)).toEqual({ metadata: { uid: "uid-owner", resourceVersion: "5", finalizers: ["x"] } });
  });

  test("keeps its finalizer, and causes no lists, until the watches cover all served resources", async () => {
    const owner = configMap("owner", 11);
    const going = { ...owner.metadata, deletionTimestamp: "2030-01-01T00:00:00Z", finalizers: ["orphan"] };
    const marked = { ...owner, metadata: going };
    const empty = { status: 200, body: { kind: "ConfigMapList", metadata: {}, items: [] } };
    await using run = new Scripted([]);
    await run.world.advance(1_000);
    run.transport.add(responses(marked), responses(marked), empty, responses(marked));
    run.resources.change({});
    await run.world.advance(0);
    run.resources.change({});
    run.stream.send(added(marked));
    await run.world.advance(100);
    expect(run.asked).toEqual(["GET owner"]);
    await run.world.advance(500);
    expect(run.asked.slice(1).map((asked) => asked.split("?")[0])).toEqual([
      "GET owner",
      "GET configmaps",
      "PATCH owner",
    ]);
  });
});

class TwoResources implements AsyncDisposable {
  readonly world = new World({ seed: 1 });
  readonly configMaps: ScriptedTransport;
  readonly secrets: ScriptedTransport;
  readonly resources = new ManualResources([CONFIG_MAPS, SECRETS]);
  readonly collector: RunningCollector;

  constructor(configMaps: readonly Reply[], secrets: readonly Reply[]) {
    this.configMaps = new ScriptedTransport(...configMaps);
    this.secrets = new ScriptedTransport(...secrets);
    const transport: Transport = {
      send: (request) => (request.target.includes("/secrets") ? this.secrets : this.configMaps).send(request),
    };
    this.collector = new RunningCollector({ world: this.world, transport, resources: this.resources });
  }

  waitsFor(resource: string): boolean {
    return this.collector.metric(`evenkeel_garbage_collector_waiting_resources{group="",resource="${resource}"}`) === 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.collector.stop();
  }
}

describe("a resource", () => {
  const orphaned = (): Reply[] => [
    new ScriptedStream(added(owned("child", 2)), initialEnd(10)),
    ABSENT,
    responses(owned("child", 2)),
    { status: 200 },
  ];

  test("is awaited until its first response before anything is decided", async () => {
    const late = new ScriptedStream();
    await using run = new TwoResources(orphaned(), [late]);
    await run.world.advance(20_000);
    expect(run.configMaps.requests).toHaveLength(1);
    expect(run.collector.run.hasSynced).toBe(false);
    late.send(initialEnd(11));
    await run.world.advance(1_000);
    expect(run.configMaps.requests).toHaveLength(4);
    expect(run.waitsFor("secrets")).toBe(false);
  });

  test("that is unavailable delays only the objects that depend on it", async () => {
    const no = rejects(503, "ServiceUnavailable");
    await using run = new TwoResources(orphaned(), Array<Reply>(20).fill(no));
    await run.world.advance(1_000);
    expect(run.configMaps.requests).toHaveLength(4);
    expect(run.waitsFor("secrets")).toBe(true);
    expect(run.waitsFor("configmaps")).toBe(false);
    expect(run.collector.metric("garbagecollector_controller_resources_sync_error_total")).toBeGreaterThan(0);
  });

  test.each([
    [406, "NotAcceptable"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [503, "ServiceUnavailable"],
  ])(
    "whose list and watch are rejected with %i is named by metric, status and one log line until it heals",
    async (code, reason) => {
      await using run = new TwoResources(orphaned(), Array<Reply>(200).fill(rejects(code, reason)));
      await run.world.advance(60_000);
      const because = `HTTP ${code}: as the script says`;
      expect(run.waitsFor("secrets")).toBe(true);
      expect(run.collector.collector.waits()).toEqual([
        {
          ...{ kind: "resource", name: "secrets", since: expect.stringMatching(/Z$/) },
          because: `the garbage collector cannot watch it: ${because}`,
        },
      ]);
      expect(run.collector.logged.filter((line) => line.includes("cannot watch"))).toEqual([
        `garbage collector cannot watch a resource {"group":"","resource":"secrets","because":"${because}","forSeconds":5}`,
      ]);
      run.secrets.replace(new ScriptedStream(initialEnd(11)));
      await run.world.advance(60_000);
      expect(run.waitsFor("secrets")).toBe(false);
      expect(run.collector.collector.waits()).toEqual([]);
      expect(run.collector.logged.at(-1)).toContain("watches a resource again");
    },
  );

  test("whose lists are accepted and whose watches are rejected is reported as not watched since the first rejection", async () => {
    const no = rejects(406, "NotAcceptable");
    const list: Reply = { status: 200, body: { kind: "SecretList", metadata: { resourceVersion: "5" }, items: [] } };
    await using run = new TwoResources(
      orphaned(),
      Array.from({ length: 30 }).flatMap(() => [no, list, no]),
    );
    const startedAt = run.world.clock.now();
    await run.world.advance(30_000);
    expect(run.waitsFor("secrets")).toBe(true);
    expect(run.collector.collector.waits().map(({ since }) => since)).toEqual([
      new Date(startedAt).toISOString().replace(".000Z", "Z"),
    ]);
    expect(run.collector.logged.filter((line) => line.includes("cannot watch"))).toHaveLength(1);
  });

  test("that cannot be watched for an hour is logged six times, with growing intervals", async () => {
    await using run = new TwoResources(orphaned(), Array<Reply>(2_000).fill(rejects(503, "ServiceUnavailable")));
    await run.world.advance(3_600_000);
    const lines = run.collector.logged.filter((line) => /cannot watch.*secrets/.test(line));
    expect(lines.map((line) => /"forSeconds":(\d+)/.exec(line)![1])).toEqual(["5", "65", "185", "425", "905", "1865"]);
  });

  test("whose CRD was deleted causes no warning", async () => {
    const stream = new ScriptedStream(initialEnd(10));
    await using run = new TwoResources(orphaned(), [stream, ...Array<Reply>(200).fill(rejects(404, "NotFound"))]);
    await run.world.advance(5_000);
    stream.end();
    await run.world.advance(2_000);
    run.resources.change({ served: [CONFIG_MAPS] });
    await run.world.advance(600_000);
    expect(run.collector.logged.filter((line) => line.includes("cannot watch"))).toEqual([]);
    expect(run.waitsFor("secrets")).toBe(false);
    expect(run.collector.collector.waits()).toEqual([]);
  });

  test("that fails is retried at once when the served resources change", async () => {
    const no = rejects(503, "ServiceUnavailable");
    await using run = new TwoResources(orphaned(), Array<Reply>(12).fill(no));
    await run.world.advance(40_000);
    const asked = run.secrets.requests.length;
    run.resources.change({});
    await run.world.advance(0);
    expect(run.secrets.requests.length).toBeGreaterThan(asked);
  });

  test("whose watch breaks counts as waited for until a watch works again", async () => {
    const stream = new ScriptedStream(initialEnd(10));
    const next = new ScriptedStream();
    await using run = new TwoResources(orphaned(), [stream, { failure: "refused" }, next]);
    await run.world.advance(5_000);
    expect(run.waitsFor("secrets")).toBe(false);
    stream.cut();
    await run.world.advance(100);
    expect(run.waitsFor("secrets")).toBe(true);
    await run.world.advance(10_000);
    expect(run.waitsFor("secrets")).toBe(false);
    next.send(bookmark(20));
    await run.world.advance(60_000);
    expect(run.collector.logged.filter((line) => line.includes("watch a resource"))).toEqual([]);
  });

  test("that no server has served in this term counts as waited for while a departed server may serve it again", async () => {
    await using run = new TwoResources(orphaned(), [new ScriptedStream(initialEnd(11))]);
    const doubt = { group: "", namespaced: true, server: "b", because: "departed at noon", isCountable: true } as const;
    run.resources.change({
      doubts: [
        { ...doubt, resource: "claims" },
        { ...doubt, resource: "claims", server: "c" },
        { ...doubt, resource: "events" },
        { ...doubt, resource: undefined },
      ],
    });
    await run.world.advance(1_000);
    expect(run.waitsFor("claims")).toBe(true);
    expect(run.waitsFor("events")).toBe(false);
    expect(run.collector.seriesOf("evenkeel_garbage_collector_waiting_resources")).toHaveLength(1);
    run.resources.change({ doubts: [] });
    expect(run.waitsFor("claims")).toBe(false);
  });

  test("is requested in the version to use at the time of the request", async () => {
    const stream = new ScriptedStream(initialEnd(10));
    await using run = new TwoResources(orphaned(), [stream]);
    await run.world.advance(1_000);
    run.resources.change({ served: [CONFIG_MAPS, { ...SECRETS, versions: ["v2", "v1"] }] });
    stream.end();
    await run.world.advance(5_000);
    expect(run.secrets.requests.map(({ target }) => target.split("?")[0])).toEqual([
      "/api/v1/secrets",
      "/api/v2/secrets",
    ]);
    expect(run.secrets.query(-1).get("resourceVersion")).toBe("10");
  });

  test("that cannot be collected is not watched", async () => {
    await using run = new TwoResources(orphaned(), []);
    const events = { ...CONFIG_MAPS, group: "events.k8s.io", resource: "events", kind: "Event" };
    const tokens = { ...SECRETS, verbs: new Set(["create"]) };
    await run.world.advance(0);
    run.resources.change({ served: [CONFIG_MAPS, events, { ...events, group: "" }, tokens] });
    await run.world.advance(60_000);
    expect(run.configMaps.asked.filter((line) => line.includes("events"))).toEqual([]);
    expect(run.secrets.requests.length).toBeLessThanOrEqual(1);
  });
});

test("the end of a term drops the graph, and the next term begins with an empty one", async () => {
  await using run = new Scripted([configMap("a", 1)]);
  await run.world.advance(1_000);
  const { collector } = run.collector;
  expect(collector.graphSize().objects).toBe(1);
  run.stream.send(added(configMap("b", 11)), deleted(configMap("a", 12)), added(configMap("c", 13)));
  await run.world.advance(0);
  expect(collector.graphSize().objects).toBe(2);
  await run.collector.stop();
  expect(collector.graphSize().objects).toBe(0);
  expect(run.collector.metric('evenkeel_garbage_collector_waiting_resources{group="",resource="configmaps"}')).toBe(0);
  expect(collector.sources()[0]!.hasSynced).toBe(false);
});
