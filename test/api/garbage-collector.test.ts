import { describe, expect, test } from "vitest";
import { assert } from "../../src/base/assert.ts";
import { BadLink } from "../testing/cluster/controllers/garbage-collector/bad-link.ts";
import { ManualResources } from "../testing/cluster/controllers/garbage-collector/manual-resources.ts";
import { RunningCollector } from "../testing/cluster/controllers/garbage-collector/running-collector.ts";
import { localGroups } from "../../src/serving/discovery/local.ts";
import { resourcesOf } from "../../src/cluster/controllers/merge-cluster-resources.ts";
import {
  CONFIG_MAPS,
  configMap,
  deployment,
  names,
  pod,
  PODS,
  startServer,
  type Json,
  type TestServer,
} from "./start.ts";

const APPS = "/apis/apps/v1/namespaces/default";
const DEPLOYMENTS = `${APPS}/deployments`;
const REPLICA_SETS = `${APPS}/replicasets`;
/** The time in which the collector completes all work that needs no retry. */
const SOON_MS = 5_000;
/** The time in which the collector also completes all work that needs retries, if it can be completed. */
const LATER_MS = 70_000;

class Collecting implements AsyncDisposable {
  readonly api: TestServer;
  readonly link: BadLink;
  readonly resources: ManualResources;
  readonly collector: RunningCollector;

  constructor(api: TestServer) {
    const { world, server } = api;
    this.api = api;
    this.link = new BadLink(server.transport, { clock: world.clock, random: world.randomFor("link") });
    this.resources = new ManualResources(resourcesOf(localGroups(server.catalog)));
    this.collector = new RunningCollector({ world, transport: this.link, resources: this.resources });
  }

  static async begin(): Promise<Collecting> {
    const collecting = new Collecting(await startServer());
    await collecting.soon();
    return collecting;
  }

  soon(): Promise<void> {
    return this.api.world.advance(SOON_MS);
  }

  later(): Promise<void> {
    return this.api.world.advance(LATER_MS);
  }

  async make(target: string, object: Json): Promise<Json> {
    const { status, body } = await this.api.create(target, object);
    assert(status === 201, JSON.stringify(body));
    return body;
  }

  /** Creates a deployment, its replica set and two pods, because no workload controller runs here. */
  async makeChain(name: string): Promise<{ top: Json; middle: Json; bottom: Json[] }> {
    const top = await this.make(DEPLOYMENTS, deployment(name));
    const middle = await this.make(REPLICA_SETS, ownedBy(replicaSet(`${name}-1`), top));
    const bottom = [
      await this.make(PODS, ownedBy(pod(`${name}-1-a`), middle)),
      await this.make(PODS, ownedBy(pod(`${name}-1-b`), middle)),
    ];
    return { top, middle, bottom };
  }

  /** The names of all objects that the lists at these paths contain. */
  async left(...targets: string[]): Promise<string[]> {
    const found: string[] = [];
    for (const target of targets) found.push(...names(await this.api.get(target)));
    return found.filter((name) => name !== "kube-root-ca.crt");
  }

  leftOfChains(): Promise<string[]> {
    return this.left(DEPLOYMENTS, REPLICA_SETS, PODS);
  }

  async references(target: string): Promise<Json> {
    return (await this.api.get(target)).body.metadata.ownerReferences;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.collector.stop();
    await this.api[Symbol.asyncDispose]();
  }
}

function replicaSet(name: string): Json {
  const { spec, ...rest } = deployment(name);
  const { selector, template } = spec;
  return { ...rest, kind: "ReplicaSet", spec: { selector, template } };
}

function reference(owner: Json, more: Json = {}): Json {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true, ...more };
}

function ownedBy(object: Json, ...owners: Json[]): Json {
  const ownerReferences = owners.map((owner) => (owner.metadata === undefined ? owner : reference(owner)));
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

describe("a deletion", () => {
  test("in the background deletes all dependents", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.makeChain("other");
    await run.api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Background" });
    await run.soon();
    expect(await run.leftOfChains()).toEqual(["other", "other-1", "other-1-a", "other-1-b"]);
    expect(run.collector.metric("evenkeel_garbage_collector_deleted_total")).toBe(3);
    expect(run.collector.run.failuresInRow).toBe(0);
  });

  test("in the foreground keeps the owner until all dependents are deleted", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.api.mergePatch(`${PODS}/web-1-a`, { metadata: { finalizers: ["example.org/slow"] } });
    await run.api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.leftOfChains()).toEqual(["web", "web-1", "web-1-a"]);
    await run.api.mergePatch(`${PODS}/web-1-a`, { metadata: { finalizers: null } });
    await run.soon();
    expect(await run.leftOfChains()).toEqual([]);
  });

  test("in the foreground deletes non-blocking dependents too, but does not wait for them", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    const free = ownedBy(configMap("free"), reference(owner, { blockOwnerDeletion: false }));
    await run.make(CONFIG_MAPS, { ...free, metadata: { ...free.metadata, finalizers: ["example.org/slow"] } });
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual(["free"]);
    expect((await run.api.get(`${CONFIG_MAPS}/free`)).body.metadata.deletionTimestamp).toBeDefined();
  });

  test("with Orphan keeps the dependents and removes their owner references", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Orphan" });
    await run.later();
    expect(await run.leftOfChains()).toEqual(["web-1", "web-1-a", "web-1-b"]);
    expect(await run.references(`${REPLICA_SETS}/web-1`)).toBeUndefined();
    expect(run.collector.metric("evenkeel_garbage_collector_orphaned_total")).toBe(1);
  });

  test("with Orphan keeps dependents that no watch has delivered yet", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(DEPLOYMENTS, deployment("web"));
    await run.soon();
    run.link.delayEvents("configmaps", 2_000);
    await run.make(CONFIG_MAPS, ownedBy(configMap("late"), owner));
    await run.api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Orphan" });
    await run.later();
    expect(await run.left(CONFIG_MAPS, DEPLOYMENTS)).toEqual(["late"]);
    expect(await run.references(`${CONFIG_MAPS}/late`)).toBeUndefined();
  });

  test("that happens while no collector runs is handled by the next collector", async () => {
    const api = await startServer();
    const earlier = new Collecting(api);
    await earlier.soon();
    await earlier.makeChain("web");
    await earlier.collector.stop();
    await api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Background" });
    await earlier.later();
    expect(await earlier.leftOfChains()).toEqual(["web-1", "web-1-a", "web-1-b"]);
    await using run = new Collecting(api);
    await run.soon();
    expect(await run.leftOfChains()).toEqual([]);
  });
});

describe("an object", () => {
  test("with a live owner stays and loses the references to deleted owners", async () => {
    await using run = await Collecting.begin();
    const first = await run.make(CONFIG_MAPS, configMap("first"));
    const second = await run.make(CONFIG_MAPS, configMap("second"));
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), first, second));
    await run.api.delete(`${CONFIG_MAPS}/first`);
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual(["child", "second"]);
    expect(await run.references(`${CONFIG_MAPS}/child`)).toEqual([reference(second)]);
    await run.api.delete(`${CONFIG_MAPS}/second`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });

  test("with a live owner and an owner in foreground deletion stays and loses the reference to the owner in foreground deletion", async () => {
    await using run = await Collecting.begin();
    const going = await run.make(CONFIG_MAPS, configMap("going"));
    const staying = await run.make(CONFIG_MAPS, configMap("staying"));
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), going, staying));
    await run.api.delete(`${CONFIG_MAPS}/going`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual(["child", "staying"]);
    expect(await run.references(`${CONFIG_MAPS}/child`)).toEqual([reference(staying)]);
  });

  test("is deleted if its owner was replaced by another object with the same name", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    await run.collector.stop();
    await run.api.delete(`${CONFIG_MAPS}/owner`);
    await run.make(CONFIG_MAPS, configMap("owner"));
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), owner));
    await using anew = new RunningCollector({ world: run.api.world, transport: run.link, resources: run.resources });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual(["owner"]);
    expect(anew.metric("evenkeel_garbage_collector_deleted_total")).toBe(1);
  });

  test("is not deleted if the API version in its owner reference is not served, as long as the owner exists", async () => {
    await using run = await Collecting.begin();
    const top = await run.make(DEPLOYMENTS, deployment("web"));
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), reference(top, { apiVersion: "apps/v1beta1" })));
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["child"]);
    await run.api.delete(`${DEPLOYMENTS}/web`);
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });

  test("with the orphan finalizer is collected, and its own dependents stay", async () => {
    await using run = await Collecting.begin();
    const { middle } = await run.makeChain("web");
    await run.api.mergePatch(`${REPLICA_SETS}/${middle.metadata.name}`, { metadata: { finalizers: ["orphan"] } });
    await run.api.delete(`${DEPLOYMENTS}/web`, { propagationPolicy: "Background" });
    await run.soon();
    expect(await run.leftOfChains()).toEqual(["web-1-a", "web-1-b"]);
  });
});

describe("a cycle of owners", () => {
  test("can be deleted in the foreground", async () => {
    await using run = await Collecting.begin();
    const a = await run.make(CONFIG_MAPS, configMap("a"));
    const b = await run.make(CONFIG_MAPS, ownedBy(configMap("b"), a));
    const c = await run.make(CONFIG_MAPS, ownedBy(configMap("c"), b));
    await run.api.mergePatch(`${CONFIG_MAPS}/a`, { metadata: { ownerReferences: [reference(c)] } });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual(["a", "b", "c"]);
    await run.api.delete(`${CONFIG_MAPS}/a`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });

  test("is deleted if all its objects are in foreground deletion", async () => {
    await using run = await Collecting.begin();
    const a = await run.make(CONFIG_MAPS, configMap("a"));
    const b = await run.make(CONFIG_MAPS, ownedBy(configMap("b"), a));
    await run.api.mergePatch(`${CONFIG_MAPS}/a`, { metadata: { ownerReferences: [reference(b)] } });
    run.link.latencyMsMax = 50;
    await run.api.delete(`${CONFIG_MAPS}/a`, { propagationPolicy: "Foreground" });
    await run.api.delete(`${CONFIG_MAPS}/b`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });

  test("that consists of one object that owns itself can be deleted", async () => {
    await using run = await Collecting.begin();
    const self = await run.make(CONFIG_MAPS, configMap("self"));
    await run.api.mergePatch(`${CONFIG_MAPS}/self`, { metadata: { ownerReferences: [reference(self)] } });
    await run.soon();
    await run.api.delete(`${CONFIG_MAPS}/self`, { propagationPolicy: "Foreground" });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });
});

describe("an owner in another namespace", () => {
  const OTHER = "/api/v1/namespaces/other/configmaps";

  test("counts as missing: the dependent is deleted, and one warning event is recorded", async () => {
    await using run = await Collecting.begin();
    await run.make("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } });
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    const child = await run.make(OTHER, ownedBy(configMap("child"), owner));
    await run.soon();
    expect(await run.left(OTHER)).toEqual([]);
    const events = (await run.api.get("/api/v1/namespaces/other/events")).body.items;
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      reason: "OwnerRefInvalidNamespace",
      type: "Warning",
      involvedObject: { kind: "ConfigMap", apiVersion: "v1", name: "child", uid: child.metadata.uid },
      message: `ownerRef [v1/ConfigMap, namespace: other, name: owner, uid: ${owner.metadata.uid}] does not exist in namespace "other"`,
    });
  });

  test("never causes the deletion of a cluster-scoped object", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    const role = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "r" },
      rules: [],
    };
    await run.make("/apis/rbac.authorization.k8s.io/v1/clusterroles", ownedBy(role, owner));
    await run.soon();
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Foreground" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
    expect((await run.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/r")).status).toBe(200);
    const events = (await run.api.get("/api/v1/namespaces/default/events")).body.items;
    expect(events.map(({ reason }: Json) => reason)).toEqual(["OwnerRefInvalidNamespace"]);
  });
});

describe("no object is collected if", () => {
  test("the server of the collector does not serve the owner's resource", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.soon();
    run.link.fail("deployments", "not-served");
    await run.api.mergePatch(`${REPLICA_SETS}/web-1`, { metadata: { labels: { look: "again" } } });
    const { collector } = run;
    await collector.stop();
    await using anew = new RunningCollector({ world: run.api.world, transport: run.link, resources: run.resources });
    await run.later();
    expect(await run.leftOfChains()).toEqual(["web", "web-1", "web-1-a", "web-1-b"]);
    expect(run.link.writes).toEqual([]);
    expect(anew.metric('evenkeel_garbage_collector_waiting_resources{group="apps",resource="deployments"}')).toBe(1);
    expect(anew.metric('evenkeel_garbage_collector_attempts_waiting_total{reason="not-served"}')).toBeGreaterThan(0);
    expect(anew.metric("garbagecollector_controller_resources_sync_error_total")).toBeGreaterThan(0);
    expect(anew.logged.some((line) => line.includes("deployments") && line.includes("404 page not found"))).toBe(true);
    expect(anew.run.failuresInRow).toBe(0);
  });

  test("the server of the collector cannot reach the peer that serves the owner's resource, and other objects are collected without delay", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.make(CONFIG_MAPS, ownedBy(configMap("x"), await run.make(CONFIG_MAPS, configMap("y"))));
    run.link.fail("deployments", "unavailable");
    await run.api.delete(`${DEPLOYMENTS}/web`);
    await run.api.delete(`${CONFIG_MAPS}/y`);
    await run.later();
    expect(await run.leftOfChains()).toEqual(["web-1", "web-1-a", "web-1-b"]);
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
    run.link.faults.clear();
    run.resources.change({});
    await run.soon();
    expect(await run.leftOfChains()).toEqual([]);
  });

  test("no server serves the owner's kind", async () => {
    await using run = await Collecting.begin();
    const nobody = { apiVersion: "example.org/v1", kind: "Thing", name: "thing", uid: "11111111-aaaa" };
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), nobody));
    await run.api.world.advance(3_600_000);
    expect(await run.left(CONFIG_MAPS)).toEqual(["child"]);
    const { collector } = run;
    expect(
      collector.metric('evenkeel_garbage_collector_attempts_waiting_total{reason="unknown-kind"}'),
    ).toBeGreaterThan(1);
    expect(collector.logged.filter((line) => line.includes("Thing"))).toHaveLength(1);
  });
});

describe("an object in foreground or orphan deletion", () => {
  test("stays while a resource that may contain its dependents cannot be watched", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    run.link.fail("secrets", "unavailable");
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } };
    await run.make("/api/v1/namespaces/default/secrets", ownedBy(secret, owner));
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Orphan" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["owner"]);
    run.link.faults.clear();
    run.resources.change({});
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
    await run.later();
    expect(await run.left("/api/v1/namespaces/default/secrets")).toEqual(["s"]);
    expect(await run.references("/api/v1/namespaces/default/secrets/s")).toBeUndefined();
  });

  test("stays while a departed server that may have served dependents can still return", async () => {
    await using run = await Collecting.begin();
    const doubts = [
      { group: "example.org", resource: "things", namespaced: true, server: "b", because: "departed at noon" },
    ];
    run.resources.change({ doubts });
    await run.make(CONFIG_MAPS, configMap("owner"));
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Foreground" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["owner"]);
    run.resources.change({ doubts: [] });
    await run.soon();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
  });
});

describe("a resource that is no longer served", () => {
  test("still keeps the dependents of its objects while it may return, and they are collected after it has returned", async () => {
    await using run = await Collecting.begin();
    await run.makeChain("web");
    await run.soon();
    const served = run.resources.served();
    const doubts = [
      { group: "apps", resource: "deployments", namespaced: true, server: "b", because: "departed at noon" },
    ];
    run.resources.change({ served: served.filter(({ resource }) => resource !== "deployments"), doubts });
    run.link.fail("deployments", "unavailable");
    await run.api.delete(`${DEPLOYMENTS}/web`);
    await run.later();
    expect(await run.leftOfChains()).toEqual(["web-1", "web-1-a", "web-1-b"]);
    run.link.faults.clear();
    run.resources.change({ served, doubts: [] });
    await run.soon();
    expect(await run.leftOfChains()).toEqual([]);
  });

  test("delays every foreground deletion while it may return, because it may contain unknown dependents", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    await run.make(DEPLOYMENTS, ownedBy(deployment("web"), owner));
    await run.soon();
    const served = run.resources.served();
    const doubts = [
      { group: "apps", resource: "deployments", namespaced: true, server: "b", because: "departed at noon" },
    ];
    run.resources.change({ served: served.filter(({ resource }) => resource !== "deployments"), doubts });
    run.link.fail("deployments", "unavailable");
    await run.make(CONFIG_MAPS, configMap("unrelated"));
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Foreground" });
    await run.api.delete(`${CONFIG_MAPS}/unrelated`, { propagationPolicy: "Foreground" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["owner", "unrelated"]);
    run.link.faults.clear();
    run.resources.change({ served, doubts: [] });
    await run.soon();
    expect(await run.left(CONFIG_MAPS, DEPLOYMENTS)).toEqual([]);
  });

  test("keeps its objects that the collector has not seen if their owner is deleted with Orphan", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    await run.soon();
    run.link.fail("deployments", "unavailable");
    await run.make(DEPLOYMENTS, ownedBy(deployment("web"), owner));
    const served = run.resources.served();
    const doubts = [
      { group: "apps", resource: "deployments", namespaced: true, server: "b", because: "departed at noon" },
    ];
    run.resources.change({ served: served.filter(({ resource }) => resource !== "deployments"), doubts });
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Orphan" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["owner"]);
    run.link.faults.clear();
    run.resources.change({ served, doubts: [] });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual([]);
    expect(await run.left(DEPLOYMENTS)).toEqual(["web"]);
  });

  test("and cannot return keeps the dependents of its objects, and does not delay the deletion of their owners", async () => {
    await using run = await Collecting.begin();
    const owner = await run.make(CONFIG_MAPS, configMap("owner"));
    const top = await run.make(DEPLOYMENTS, ownedBy(deployment("web"), owner));
    await run.make(CONFIG_MAPS, ownedBy(configMap("child"), top));
    await run.soon();
    const served = run.resources.served().filter(({ resource }) => resource !== "deployments");
    run.resources.change({ served });
    run.link.fail("deployments", "not-served");
    await run.api.delete(`${CONFIG_MAPS}/owner`, { propagationPolicy: "Foreground" });
    await run.later();
    expect(await run.left(CONFIG_MAPS)).toEqual(["child"]);
    expect(run.link.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  });
});
