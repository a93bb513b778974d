/**
 * Compares an informer with the server while random faults occur on the connection: at the end the informer must have
 * the objects of the server, and every notification must be consistent with the earlier notifications.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { randomUuid } from "../../src/base/random.ts";
import { createClient, type Client } from "../../src/client/client.ts";
import type { InformerHandler } from "../../src/client/handler-queue.ts";
import type { Informer } from "../../src/client/informer.ts";
import type { KubernetesObject } from "../../src/client/objects.ts";
import { FlakyTransport } from "../testing/client/flaky-transport.ts";
import type { World } from "../../src/tools/simulator/world.ts";
import { configMap, CONFIG_MAPS as PATH, startServer, type TestServer } from "./start.ts";

type Step =
  | { readonly kind: "create" | "update" | "delete"; readonly name: string }
  /** Makes so many changes that the history of the server no longer contains the informer's resource version. */
  | { readonly kind: "churn" }
  | { readonly kind: "cut" | "end watches" | "disconnect" | "reconnect" | "compact" | "restart" }
  /** Cuts the connection after a number of chunks of the watch stream. */
  | { readonly kind: "cut soon"; readonly pieces: number }
  | { readonly kind: "advance"; readonly ms: number };

const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true } as const;

const name = fc.constantFrom("a", "b", "c", "d");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constantFrom("create" as const, "update" as const, "delete" as const), name }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "churn" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "cut" as const,
        "end watches" as const,
        "disconnect" as const,
        "reconnect" as const,
        "compact" as const,
        "restart" as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cut soon" as const), pieces: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(0, 10, 1_000, 5_000, 400_000) }),
  },
);

/**
 * Checks that every notification is consistent with the earlier ones: an object is added before it is updated or
 * deleted, and each update starts from the last known state.
 */
class Historian implements InformerHandler<KubernetesObject> {
  readonly known = new Map<string, KubernetesObject>();
  readonly complaints: string[] = [];

  onAdd(object: KubernetesObject): void {
    this.#expect(!this.known.has(nameOf(object)), `added an existing object: ${nameOf(object)}`);
    this.known.set(nameOf(object), object);
  }

  onUpdate(object: KubernetesObject, before: KubernetesObject): void {
    const known = this.known.get(nameOf(object));
    this.#expect(known === before, `updated from another state than the last one: ${nameOf(object)}`);
    this.#expect(before.metadata?.uid === object.metadata?.uid, `updated to another object: ${nameOf(object)}`);
    this.#expect(versionOf(object) > versionOf(before), `got an older version: ${nameOf(object)}`);
    this.known.set(nameOf(object), object);
  }

  onDelete(object: KubernetesObject): void {
    const known = this.known.get(nameOf(object));
    this.#expect(known?.metadata?.uid === object.metadata?.uid, `deleted a missing object: ${nameOf(object)}`);
    this.known.delete(nameOf(object));
  }

  #expect(isTrue: boolean, complaint: string): void {
    if (!isTrue) this.complaints.push(complaint);
  }
}

const nameOf = (object: KubernetesObject): string => object.metadata?.name ?? "";
const versionOf = (object: KubernetesObject): number => Number(object.metadata?.resourceVersion);

/** A server that a test can restart, and an informer that reconnects to it. */
class Scene {
  readonly world: World;
  readonly transport: FlakyTransport;
  readonly client: Client;
  readonly informer: Informer;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #api: TestServer;

  constructor(api: TestServer) {
    this.#api = api;
    this.world = api.world;
    this.transport = new FlakyTransport(api.server.transport);
    const { clock } = this.world;
    this.client = createClient({ transport: this.transport, clock, random: this.world.randomFor("informer") });
    this.informer = this.client.informer(CONFIG_MAPS, { namespace: "default" });
    this.#running = this.informer.run(this.#stop.signal);
  }

  async take(action: Step): Promise<unknown> {
    const api = this.#api;
    switch (action.kind) {
      case "create":
        return api.create(PATH, configMap(action.name));
      case "update":
        return api.mergePatch(`${PATH}/${action.name}`, { data: { changed: randomUuid(api.world.env.random) } });
      case "delete":
        return api.delete(`${PATH}/${action.name}`);
      case "churn":
        for (let index = 0; index < 110; index++)
          await api.mergePatch(`${PATH}/a`, { data: { churn: randomUuid(api.world.env.random) } });
        return api.world.advance(400_000);
      case "cut":
        return this.transport.cut();
      case "cut soon":
        this.transport.piecesUntilCut = action.pieces;
        return undefined;
      case "end watches":
        return api.server.endWatches();
      case "disconnect":
        this.transport.server = undefined;
        return this.transport.cut();
      case "reconnect":
        return this.reconnect();
      case "compact":
        return api.kv.compact(await api.kv.currentRevision());
      case "restart":
        this.transport.server = undefined;
        await api[Symbol.asyncDispose]();
        // Ends the connections, as the exit of a process would.
        this.transport.cut();
        this.#api = await startServer({ world: this.world });
        return this.reconnect();
      case "advance":
        return api.world.advance(action.ms);
    }
  }

  reconnect(): void {
    this.transport.server = this.#api.server.transport;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.world.run(this.#running);
    await this.#api[Symbol.asyncDispose]();
  }
}

function inOrder(objects: Iterable<KubernetesObject>): KubernetesObject[] {
  return [...objects].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

test("the informer ends with the objects of the server, and each handler received a consistent history", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer(), async (steps, seed) => {
      await using scene = new Scene(await startServer({ seed }));
      const { informer, world } = scene;
      const [early, late] = [new Historian(), new Historian()];
      informer.addHandler(early);
      for (const [index, action] of steps.entries()) {
        await scene.take(action);
        if (index === 10) informer.addHandler(late);
      }
      if (steps.length <= 10) informer.addHandler(late);
      scene.transport.piecesUntilCut = Infinity;
      scene.reconnect();
      await world.advance(180_000);
      const { items } = await world.run(scene.client.resource(CONFIG_MAPS).list({ namespace: "default" }));
      expect(inOrder(informer.list())).toEqual(items);
      expect(inOrder(early.known.values())).toEqual(items);
      expect(inOrder(late.known.values())).toEqual(items);
      expect([...early.complaints, ...late.complaints]).toEqual([]);
    }),
    { numRuns: 60 },
  );
}, 300_000);
