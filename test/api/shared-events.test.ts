/** Watches of the server's own metadata client, which receive events as values instead of bytes. */
import { describe, expect, test } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import type { KubernetesObject, ResourceType, WatchEvent } from "../../src/client/objects.ts";
import type { Transport } from "../../src/client/transport.ts";
import { CONFIG_MAPS, configMap, startServer, type TestServer } from "./start.ts";

const CONFIG_MAP_TYPE: ResourceType = { group: "", version: "v1", resource: "configmaps", namespaced: true };
const DEPLOYMENT_TYPE: ResourceType = { group: "apps", version: "v1", resource: "deployments", namespaced: true };
/** Stored as autoscaling/v2, which has the metrics in its spec and not in annotations. */
const HPA_TYPE: ResourceType = {
  group: "autoscaling",
  version: "v1",
  resource: "horizontalpodautoscalers",
  namespaced: true,
};
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const HPAS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const PATCH = { headers: { "content-type": "application/merge-patch+json" } };

type Event = WatchEvent<KubernetesObject>;

/** The same transport without events as values. */
function bytesOnly(transport: Transport): Transport {
  return {
    async send(request) {
      const { events: _events, ...response } = await transport.send(request);
      return response;
    },
  };
}

function metadataClient({ world }: TestServer, transport: Transport): Client {
  const random = world.randomFor("metadata");
  return createClient({ transport, clock: world.clock, random, defaults: { representation: "metadata" } });
}

function watched(api: TestServer, transport: Transport, type: ResourceType, signal: AbortSignal): Event[] {
  const events: Event[] = [];
  const run = async (): Promise<void> => {
    const options = { namespace: "default", sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } as const;
    const watch = metadataClient(api, transport)
      .resource(type)
      .watch({ ...options, allowWatchBookmarks: true, signal });
    for await (const event of watch) events.push(event);
  };
  void run().catch(() => {});
  return events;
}

function withoutManagedFields(event: Event): Event {
  const { managedFields: _managedFields, ...metadata } = event.object.metadata ?? {};
  return { ...event, object: { ...event.object, metadata } };
}

const deployment = (name: string): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name }, annotations: { note: 'ä "quoted" {' } },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
});

const autoscaler = (name: string): object => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name },
  spec: {
    scaleTargetRef: { kind: "Deployment", name: "a", apiVersion: "apps/v1" },
    maxReplicas: 3,
    metrics: [{ type: "Pods", pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "1" } } }],
  },
});

describe("a metadata watch of the server's own client", () => {
  test.each([
    ["ConfigMaps", CONFIG_MAP_TYPE, CONFIG_MAPS, configMap],
    ["Deployments", DEPLOYMENT_TYPE, DEPLOYMENTS, deployment],
    ["HorizontalPodAutoscalers in another version than the stored one", HPA_TYPE, HPAS, autoscaler],
  ])("of %s receives the events of a watch in bytes, without managedFields", async (_kind, type, path, object) => {
    await using api = await startServer();
    await api.create(path, object("before"));
    const stop = new AbortController();
    const values = watched(api, api.server.transport, type, stop.signal);
    const bytes = watched(api, bytesOnly(api.server.transport), type, stop.signal);
    await api.world.advance(0);
    await api.create(path, object("a"));
    await api.call("PATCH", `${path}/a`, { metadata: { labels: { x: "y" }, finalizers: ["example.com/f"] } }, PATCH);
    await api.call("DELETE", `${path}/a`);
    await api.call("PATCH", `${path}/a`, { metadata: { finalizers: null } }, PATCH);
    await api.world.advance(0);
    expect(values.map(({ type: kind }) => kind)).toEqual([
      ...["ADDED", "BOOKMARK"],
      ...["ADDED", "MODIFIED", "MODIFIED", "DELETED"],
    ]);
    expect(values).toEqual(bytes.map(withoutManagedFields));
    expect(bytes.filter(({ object: { metadata } }) => metadata?.managedFields !== undefined)).toHaveLength(5);
    stop.abort();
  });

  test("causes no encoding of an event that nobody reads as bytes", async () => {
    await using api = await startServer();
    const stop = new AbortController();
    const values = watched(api, api.server.transport, CONFIG_MAP_TYPE, stop.signal);
    await api.world.advance(0);
    const before = await api.metric("evenkeel_watch_encodings_total");
    await api.create(CONFIG_MAPS, configMap("a"));
    await api.world.advance(0);
    expect(values.at(-1)).toMatchObject({ type: "ADDED", object: { metadata: { name: "a" } } });
    expect((await api.metric("evenkeel_watch_encodings_total")) - before).toBe(0);
    stop.abort();
  });

  test("of values that another server has written receives their metadata", async () => {
    await using api = await startServer();
    const stop = new AbortController();
    const values = watched(api, api.server.transport, CONFIG_MAP_TYPE, stop.signal);
    await api.world.advance(0);
    const metadata = { name: "foreign", namespace: "default", uid: "u", managedFields: [{ manager: "m" }] };
    const value = Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata, data: { a: "b" } }));
    const key = "/registry/configmaps/default/foreign";
    const { revision } = await api.world.run(api.kv.commit({ kind: "put", key, value, expectedRevision: 0 }));
    await api.world.advance(0);
    const { managedFields: _managedFields, ...shown } = metadata;
    expect(values.at(-1)).toEqual({
      type: "ADDED",
      object: {
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { ...shown, resourceVersion: String(revision) },
      },
    });
    stop.abort();
  });
});
