/** Whatever happens between a server and an informer: in the end it knows what is there, and it never told nonsense. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { randomUuid } from "../../src/base/random.ts";
import { createClient } from "../../src/client/client.ts";
import type { InformerHandler } from "../../src/client/handler-queue.ts";
import type { KubernetesObject } from "../../src/client/objects.ts";
import { FlakyTransport } from "../../src/client/testing/flaky-transport.ts";
import { configMap, CONFIG_MAPS as PATH, startServer, type TestServer } from "./start.ts";

type Step =
  | { readonly kind: "create" | "update" | "delete"; readonly name: string }
  /** Many changes at once, so that the server's history moves on. */
  | { readonly kind: "churn" }
  | { readonly kind: "cut" | "end watches" | "disconnect" | "reconnect" | "compact" }
  | { readonly kind: "advance"; readonly ms: number };

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
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(0, 10, 1_000, 5_000, 400_000) }),
  },
);

/** Holds every notification against the ones before it: the life of an object is add, update…, delete. */
class Historian implements InformerHandler<KubernetesObject> {
  readonly known = new Map<string, KubernetesObject>();
  readonly complaints: string[] = [];

  onAdd(object: KubernetesObject): void {
    this.#expect(!this.known.has(nameOf(object)), `added what was there: ${nameOf(object)}`);
    this.known.set(nameOf(object), object);
  }

  onUpdate(object: KubernetesObject, before: KubernetesObject): void {
    const known = this.known.get(nameOf(object));
    this.#expect(known === before, `updated from what was not the last state: ${nameOf(object)}`);
    this.#expect(before.metadata?.uid === object.metadata?.uid, `updated to another object: ${nameOf(object)}`);
    this.#expect(versionOf(object) > versionOf(before), `went back in time: ${nameOf(object)}`);
    this.known.set(nameOf(object), object);
  }

  onDelete(object: KubernetesObject): void {
    const known = this.known.get(nameOf(object));
    this.#expect(known?.metadata?.uid === object.metadata?.uid, `deleted what was not there: ${nameOf(object)}`);
    this.known.delete(nameOf(object));
  }

  #expect(isTrue: boolean, complaint: string): void {
    if (!isTrue) this.complaints.push(complaint);
  }
}

const nameOf = (object: KubernetesObject): string => object.metadata?.name ?? "";
const versionOf = (object: KubernetesObject): number => Number(object.metadata?.resourceVersion);

async function take(api: TestServer, transport: FlakyTransport, action: Step): Promise<unknown> {
  switch (action.kind) {
    case "create":
      return api.create(PATH, configMap(action.name));
    case "update":
      return api.mergePatch(`${PATH}/${action.name}`, { data: { changed: randomUuid(api.world.env.random) } });
    case "delete":
      return api.delete(`${PATH}/${action.name}`);
    case "churn":
      for (let index = 0; index < 110; index++) await api.mergePatch(`${PATH}/a`, { data: { churn: String(index) } });
      return api.world.advance(400_000);
    case "cut":
      return transport.cut();
    case "end watches":
      return api.server.endWatches();
    case "disconnect":
      transport.server = undefined;
      return transport.cut();
    case "reconnect":
      transport.server = api.server.transport;
      return undefined;
    case "compact":
      return api.kv.compact(await api.kv.currentRevision());
    case "advance":
      return api.world.advance(action.ms);
  }
}

test("the informer ends up with what the server has, and each handler was told a history that can have happened", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer(), async (steps, seed) => {
      await using api = await startServer({ seed });
      const { world } = api;
      const transport = new FlakyTransport(api.server.transport);
      const client = createClient({ transport, clock: world.clock, random: world.randomFor("informer") });
      const informer = client.informer(
        { group: "", version: "v1", resource: "configmaps", namespaced: true },
        { namespace: "default" },
      );
      const [early, late] = [new Historian(), new Historian()];
      informer.addHandler(early);
      const stop = new AbortController();
      const running = informer.run(stop.signal);
      try {
        for (const [index, action] of steps.entries()) {
          await take(api, transport, action);
          if (index === 10) informer.addHandler(late);
        }
        transport.server = api.server.transport;
        await world.advance(180_000);
        const { items } = await world.run(
          client
            .resource({ group: "", version: "v1", resource: "configmaps", namespaced: true })
            .list({ namespace: "default" }),
        );
        const inOrder = (objects: Iterable<KubernetesObject>): KubernetesObject[] =>
          [...objects].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
        expect(inOrder(informer.list())).toEqual(items);
        expect(inOrder(early.known.values())).toEqual(items);
        if (steps.length > 10) expect(inOrder(late.known.values())).toEqual(items);
        expect([...early.complaints, ...late.complaints]).toEqual([]);
      } finally {
        stop.abort();
        await world.run(running);
      }
    }),
    { numRuns: 60 },
  );
});
